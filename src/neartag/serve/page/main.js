// The page begins: what the tab remembers, what the server says, and the labels of the text.

import { at } from "./dom.js";
import "./correct.js";
import "./documents.js";
import "./file.js";
import { showModel } from "./model.js";
import { recallQueue } from "./review.js";
import { lost, tryAgain, whenBack } from "./server.js";
import { closeOpen, recallState, refresh } from "./tagging.js";
import { show } from "./views.js";

whenBack(async () => {
  await showModel();
  await refresh();
});
at("again").addEventListener("click", tryAgain);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !document.querySelector("dialog[open]") && !at("view-text").hidden) closeOpen();
});

recallState();
recallQueue();
show(location.hash || "#/", { focus: false });
showModel().then(refresh).catch((error) => lost(error, () => {}));
