// Lists the notes, follows every change, and writes what the person types. Nobody's words are lost:
// a write carries the version it was made from, and the store refuses it if the note has changed.
const NOTES = "/store/apis/app.local/v1/notes";
const me = document.cookie.match(/(?:^|; )name=([a-z]+)/)?.[1];
const cards = new Map(); // name → { note, base, item, area }; base: what the person began to edit

async function ask(method, path, body) {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  return { status: answer.status, content: await answer.json() };
}

function show(note) {
  const name = note.metadata.name;
  const card = cards.get(name) ?? addCard(name);
  card.note = note;
  if (document.activeElement !== card.area) {
    card.base = note;
    card.area.value = note.text;
  }
  card.item.querySelector("small").textContent = `by ${note.author}`;
}

function addCard(name) {
  const item = document.createElement("li");
  item.dataset.name = name;
  const area = document.createElement("textarea");
  area.addEventListener("change", () => save(name, area.value));
  const remove = document.createElement("button");
  remove.textContent = "Remove";
  remove.addEventListener("click", () => ask("DELETE", `${NOTES}/${name}`));
  item.append(area, document.createElement("small"), " ", remove);
  document.querySelector("#notes").append(item);
  const card = { note: null, base: null, item, area };
  cards.set(name, card);
  return card;
}

function forget(name) {
  cards.get(name)?.item.remove();
  cards.delete(name);
}

async function save(name, text) {
  const card = cards.get(name);
  const wanted = { ...card.base, text, author: me };
  const { status, content } = await ask("PUT", `${NOTES}/${name}`, wanted);
  card.item.classList.toggle("conflict", status === 409);
  if (status !== 409) {
    card.base = content;
    return;
  }
  const { content: present } = await ask("GET", `${NOTES}/${name}`);
  card.base = present; // who saves again has seen what is there
  say(`meanwhile ${present.author} wrote: ${present.text}`);
}

function say(text) {
  document.querySelector("#state").textContent = text;
}

async function add() {
  const note = { apiVersion: "app.local/v1", kind: "Note", metadata: { generateName: "note-" } };
  await ask("POST", NOTES, { ...note, text: "", author: me });
}

async function follow() {
  const { content: list } = await ask("GET", NOTES);
  for (const name of cards.keys()) forget(name);
  list.items.forEach(show);
  const from = list.metadata.resourceVersion;
  const changes = new EventSource(`${NOTES}?watch=1&resourceVersion=${from}`);
  const object = (event) => JSON.parse(event.data).object;
  changes.addEventListener("ADDED", (event) => show(object(event)));
  changes.addEventListener("MODIFIED", (event) => show(object(event)));
  changes.addEventListener("DELETED", (event) => forget(object(event).metadata.name));
  changes.addEventListener("ERROR", () => again(changes)); // the version was forgotten: list again
  changes.addEventListener("open", () => say("live"));
  changes.addEventListener("error", () => {
    say("reconnecting");
    if (changes.readyState === EventSource.CLOSED) again(changes);
  });
}

function again(changes) {
  changes.close();
  setTimeout(() => follow().catch(() => again(changes)), 1000);
}

document.querySelector("#sign-in").hidden = Boolean(me);
document.querySelector("main").hidden = !me;
document.querySelector("#add").addEventListener("click", add);
if (me) await follow();
