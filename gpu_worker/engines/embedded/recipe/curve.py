"""The loss curve as a small SVG."""

from __future__ import annotations

WIDTH, HEIGHT, MARGIN = 640, 240, 36


def loss_curve_svg(curve: list[dict[str, float]]) -> str:
    """Loss over steps, smoothed over five logged points; the raw points stay in the JSON."""
    losses = [point["loss"] for point in curve]
    windows = [losses[max(0, at - 4) : at + 1] for at in range(len(losses))]
    smooth = [sum(window) / len(window) for window in windows]
    last, top = curve[-1]["step"] or 1, min(max(smooth), 3.0)
    points = " ".join(
        f"{MARGIN + (WIDTH - 2 * MARGIN) * point['step'] / last:.1f},"
        f"{HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * min(value, top) / top:.1f}"
        for point, value in zip(curve, smooth, strict=True)
    )
    base, right = HEIGHT - MARGIN, WIDTH - MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12" fill="#666"><path d="M{MARGIN} {MARGIN}V{base}H{right}" fill="none" stroke="#999"/>'
        f'<polyline points="{points}" fill="none" stroke="#2a6fdb" stroke-width="1.5"/>'
        f'<text x="{MARGIN}" y="{MARGIN - 8}">loss (top {top:.1f})</text>'
        f'<text x="{right}" y="{base + 18}" text-anchor="end">step {last:.0f}, '
        f"loss {smooth[-1]:.2f}</text></svg>\n"
    )
