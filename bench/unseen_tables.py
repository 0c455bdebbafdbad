"""Tables such as people bring: a German one, one of twenty columns in French, a Chinese and a Russian one.

Their words stand nowhere in the embedded model's recipe, and their column names are ordinary ones of their
trades. Every table follows from its seed; how agents are trained on them is in `sides/unseen_csv.py`.
"""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

Rng = random.Random


@dataclass(frozen=True)
class Upload:
    """A file as a person sends it."""

    filename: str
    content: bytes


def _words(text: str) -> list[str]:
    return text.split()


def upload(name: str, seed: int = 0) -> Upload:
    """One of UPLOADS by its name."""
    return UPLOADS[name](Rng(f"{name} {seed}"))


def _written(rows: Sequence[Sequence[object]], delimiter: str = ",", encoding: str = "utf-8") -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode(encoding)


def _day(rng: Rng, first: date, days: int) -> date:
    return first + timedelta(days=rng.randrange(days))


def _pairs(rng: Rng, make: Callable[[], str], count: int) -> list[str]:
    """Values of which most stand in two or three rows."""
    pool: dict[str, None] = {}
    while len(pool) < max(2, count * 2 // 5):
        pool[make()] = None
    values = [*pool] * (count // len(pool) + 1)
    values = values[:count]
    rng.shuffle(values)
    return values


def german(rng: Rng) -> Upload:
    """Machines for hire: 240 rows, semicolons, Windows-1252, decimal points."""
    kinds = _words("Rüttelplatte Kreissäge Hochdruckreiniger Bohrhammer Häcksler Stromerzeuger Fräse")
    makers = _words("Brüggemann Schönwerk Käsbohr Luftikus Müllersohn Grünthal Eisenhauer Nordlicht")
    places = _words("Würzburg Göttingen Übach Saarlouis Fürth Bautzen Jülich Weißenfels Mölln")
    states = _words("betriebsbereit verliehen beschädigt ausgemustert überfällig")
    names = _words("Jörg Käthe Günther Änne Björn Ulrike Hannelore Detlef Sören Annegret Wiebke Volker")
    ends = _words("Schäfer Krüger Böttcher Zöllner Hübner Ackermann Wünsch Pfeiffer Lüdtke Röhrig")
    numbers = rng.sample(range(1000, 9999), 240)
    keepers = _pairs(rng, lambda: f"{rng.choice(names)} {rng.choice(ends)}", 240)
    shelves = _pairs(rng, lambda: f"{rng.choice('ABCDEFGH')}{rng.randrange(1, 40)}", 240)
    header = _words(
        "Gerätenummer Bezeichnung Hersteller Lagerplatz Zustand Standort Tagessatz Kaution "
        "Betriebsstunden Prüfdatum Ansprechpartner"
    )
    rows = [
        (
            f"GM-{number}",
            rng.choice(kinds),
            rng.choice(makers),
            shelf,
            rng.choice(states),
            rng.choice(places),
            f"{rng.randrange(900, 18000) / 100:.2f}",
            rng.randrange(5, 90) * 10,
            rng.randrange(12, 4800),
            _day(rng, date(2024, 3, 1), 700).isoformat(),
            keeper,
        )
        for number, shelf, keeper in zip(numbers, shelves, keepers, strict=True)
    ]
    return Upload("Gerätepark.csv", _written([header, *rows], ";", "cp1252"))


FRENCH = _words("""
    matricule prénom nom_de_famille courriel poste atelier échelon ancienneté salaire_brut prime
    congés_restants date_embauche ville_natale véhicule badge casier syndicat formation
    contrat_jusqu_au remarque
""")


def french(rng: Rng) -> Upload:
    """A workforce: 900 rows of twenty columns, UTF-8."""
    firsts = _words(
        "Élodie Jérôme Maëlle Thibault Océane Gaël Noémie Baptiste Anaïs Loïc Solène Rémi Zoé Cédric"
    )
    lasts = _words("Lefèvre Gauthier Chevalier Delacroix Fournier Bélanger Rousseau Mercier Lemoine Périer")
    posts = _words("soudeuse ajusteur chaudronnière magasinier cariste fraiseuse électricienne peintre")
    shops = ("Halle Sud", "Forge", "Étage 2", "Montage", "Expédition", "Qualité")
    towns = _words("Besançon Nîmes Angoulême Périgueux Vannes Épinal Béziers Chambéry Sète Orléans")
    cars = _words("vélo tramway covoiturage scooter autocar aucun")
    unions = ("aucun", "CGT", "CFDT", "FO")
    count = 900
    lockers = _pairs(rng, lambda: f"C{rng.randrange(1, 900):03d}", count)
    courses = _pairs(
        rng,
        lambda: f"{rng.choice(_words('SECURITE HABILITATION LEVAGE SOUDAGE'))} {rng.randrange(1, 200)}",
        count,
    )
    rows = []
    for at, number in enumerate(rng.sample(range(20000, 99999), count)):
        first, last = rng.choice(firsts), rng.choice(lasts)
        hired = _day(rng, date(2003, 1, 6), 8000)
        rows.append(
            (
                f"M{number}",
                first,
                last,
                f"m{number}@usine.example",
                rng.choice(posts),
                rng.choice(shops),
                rng.randrange(1, 13),
                2026 - hired.year,
                rng.randrange(17500, 42000) / 10,
                rng.randrange(0, 90) * 10,
                rng.randrange(0, 31),
                hired.isoformat(),
                rng.choice(towns),
                rng.choice(cars),
                f"{rng.randrange(16**5):05X}",
                lockers[at],
                rng.choice(unions),
                courses[at],
                _day(rng, date(2026, 6, 1), 900).isoformat(),
                "à jour" if rng.random() < 0.7 else "",
            )
        )
    return Upload("effectif_2026.csv", _written([FRENCH, *rows]))


def chinese(rng: Rng) -> Upload:
    """Parcels: 50,000 rows, UTF-8 with a byte order mark."""
    towns = _words("杭州 成都 西安 厦门 昆明 哈尔滨 苏州 长沙 青岛 乌鲁木齐 石家庄 呼和浩特")
    goods = _words("茶叶 瓷器 毛毯 雨伞 耳机 台灯 跑鞋 书包 暖水瓶 折叠椅 电饭煲")
    states = _words("已揽收 运输中 派送中 已签收 已退回")
    families, given = "王李张刘陈杨赵黄周吴徐孙", "伟芳娜敏静丽强磊洋艳勇军杰娟涛超霞"
    count = 50_000
    people = _pairs(
        rng,
        lambda: rng.choice(families) + rng.choice(given) + rng.choice(given) + str(rng.randrange(9)),
        2000,
    )
    phones = _pairs(rng, lambda: f"1{rng.randrange(30, 99)}{rng.randrange(10**8):08d}", count)
    header = _words("运单号 收件人 手机 目的地 货物 状态 重量 运费 寄出日期")
    numbers = rng.sample(range(100_000, 999_999), count)
    rows = (
        (
            f"YD{number}",
            rng.choice(people),
            phone,
            rng.choice(towns),
            rng.choice(goods),
            rng.choice(states),
            f"{rng.randrange(1, 300) / 10:.1f}",
            f"{rng.randrange(500, 9000) / 100:.2f}",
            _day(rng, date(2025, 1, 1), 500).isoformat(),
        )
        for number, phone in zip(numbers, phones, strict=True)
    )
    return Upload("快递单.csv", _written([header, *rows], encoding="utf-8-sig"))


def russian(rng: Rng) -> Upload:
    """Spare parts: 50,000 rows, tabs, Windows-1251."""
    parts = _words("Подшипник Шестерня Клапан Втулка Манжета Фильтр Шланг Ремень Прокладка Гайка")
    makers = _words("Уралмаш Балтзавод Невамет Сибтехника Донпромсталь Камадеталь")
    stores = _words("Екатеринбург Тюмень Воронеж Пермь Иркутск Саратов Калуга Рязань")
    count = 50_000
    shelves = _pairs(rng, lambda: f"{rng.choice('АБВГД')}-{rng.randrange(1, 40000)}", count)
    header = _words("Артикул Наименование Изготовитель Склад Ячейка Остаток Цена Поступление")
    numbers = rng.sample(range(100_000, 999_999), count)
    rows = (
        (
            f"Д-{number}",
            rng.choice(parts),
            rng.choice(makers),
            rng.choice(stores),
            shelf,
            rng.randrange(0, 900),
            f"{rng.randrange(900, 900_000) / 100:.2f}",
            _day(rng, date(2024, 2, 1), 600).strftime("%d.%m.%Y"),
        )
        for number, shelf in zip(numbers, shelves, strict=True)
    )
    return Upload("Запчасти.csv", _written([header, *rows], "\t", "cp1251"))


UPLOADS: dict[str, Callable[[Rng], Upload]] = {
    "german": german,
    "french": french,
    "chinese": chinese,
    "russian": russian,
}
