// The run page's socket: takes frames in order, says where it is, keeps lists short, shows the connection.

const SAYS_EVERY = 64; // as in training/runs/hub.py
const live = document.getElementById("live");
const pill = document.getElementById("pill");
let seen = Number(live.dataset.seq);
let frame = null;
let drawn = 0; // frames since we last said so
let saysAt = SAYS_EVERY;
let lostAt = Date.now();
let frameAt = Date.now();
let connected = false;
let denied = false;

function say(connection, message) {
  if (connection.socket?.readyState === WebSocket.OPEN) connection.socket.send(JSON.stringify(message));
}

live.addEventListener("htmx:ws:after:connection", (event) => {
  connected = true;
  saySeen(event.detail.connection);
  showConnection();
});

live.addEventListener("htmx:ws:close", (event) => {
  if (connected) lostAt = Date.now();
  connected = false;
  denied = event.detail.code === 4403 || event.detail.code === 4404;
  showConnection();
});

live.addEventListener("htmx:ws:before:message:incoming", (event) => {
  frame = JSON.parse(event.detail.message.data);
  if (frame.first === seen) return;
  event.preventDefault(); // a gap, or something we have: ask again from where we are
  saySeen(event.detail.connection);
});

live.addEventListener("htmx:ws:after:message:incoming", (event) => {
  seen = frame.last;
  live.dataset.seq = String(seen);
  frameAt = Date.now();
  shorten();
  arrange();
  sayDrawn(event.detail.connection);
  showConnection();
});

function saySeen(connection) {
  drawn = 0;
  saysAt = Math.ceil(Math.random() * SAYS_EVERY); // not at the same moment as every other browser
  say(connection, { seen });
}

function sayDrawn(connection) {
  drawn += 1;
  if (drawn < saysAt) return;
  say(connection, { drawn });
  drawn = 0;
  saysAt = SAYS_EVERY;
}

/** The walls show a scenario at the same place before and after, whichever was finished first. */
function arrange() {
  for (const wall of document.querySelectorAll(".wall")) {
    const tiles = [...wall.children];
    const inPlace = tiles.toSorted((a, b) => a.dataset.place - b.dataset.place);
    if (inPlace.some((tile, index) => tile !== tiles[index])) wall.append(...inPlace);
  }
}

/** Lists keep their newest entries only: the feed's newest stand first, all others' last. */
function shorten() {
  for (const list of document.querySelectorAll("[data-most]")) {
    while (list.childElementCount > Number(list.dataset.most)) {
      (list.id === "feed" ? list.lastElementChild : list.firstElementChild).remove();
    }
  }
}

function connectionState() {
  if (connected) return "live";
  const lost = Date.now() - lostAt;
  if (denied || !navigator.onLine || lost > 20_000) return "offline";
  return lost > 3_000 ? "reconnecting" : pill.dataset.state;
}

function showConnection() {
  const state = connectionState();
  const text = pill.dataset[state] ?? "";
  if (pill.dataset.state !== state) pill.dataset.state = state;
  if (pill.textContent !== text) pill.textContent = text;
  const seconds = Math.round((Date.now() - frameAt) / 1000);
  pill.title = pill.dataset.updated.replace("0", String(seconds));
}

setInterval(showConnection, 1000);
window.addEventListener("online", showConnection);
window.addEventListener("offline", showConnection);
