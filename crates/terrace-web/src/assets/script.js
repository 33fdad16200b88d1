// Everything here is an extra: pages work without it.
"use strict";
(() => {
  const live = document.getElementById("page-live");
  const say = (text) => { if (live) live.textContent = text; };

  const make = (tag, className, ...content) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.append(...content);
    return element;
  };

  // Code blocks of documents have a button as well.
  for (const code of document.querySelectorAll(".prose pre > code")) {
    const pre = code.parentElement;
    const block = make("div", "snippet");
    const button = make("button", "copy", "Copy");
    button.type = "button";
    button.hidden = true;
    button.setAttribute("aria-label", "Copy the code");
    pre.replaceWith(block);
    block.append(pre, button);
  }

  // Copy buttons.
  for (const button of document.querySelectorAll("button.copy")) {
    if (!navigator.clipboard) break;
    button.hidden = false;
    button.addEventListener("click", async () => {
      const code = button.parentElement.querySelector("code");
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
        say("Copied");
      } catch {
        getSelection().selectAllChildren(code);
        button.textContent = "Selected";
        say("The browser does not allow copying. The text is selected.");
      }
      setTimeout(() => { button.textContent = "Copy"; say(""); }, 2000);
    });
  }

  // `/` moves to the search, unless the reader is typing.
  const search = document.getElementById("page-q");
  addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input, select, textarea, [contenteditable]");
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping || !search) return;
    event.preventDefault();
    search.focus();
    search.select();
  });

  // The best match first: the whole name, its end after an underscore, its beginning, a part of it.
  const rank = (name, words) => {
    const [word] = words;
    if (!words.every((it) => name.includes(it))) return -1;
    if (words.length > 1) return 3;
    if (name === word) return 0;
    if (name.endsWith("_" + word)) return 1;
    return name.startsWith(word) ? 2 : 3;
  };
  const wordsOf = (field) => field.value.toLowerCase().split(/\s+/).filter(Boolean);

  // The search field offers packages by their names and descriptions; the search itself knows more words.
  search?.addEventListener("input", async () => {
    const response = await fetch("/_names").catch(() => null);
    if (!response?.ok) return;
    const names = (await response.text()).split("\n").filter(Boolean).map((line) => {
      const [path, description = ""] = line.split("\t");
      return { path, address: path.split("/").slice(2).join("/"), description };
    });
    const offers = make("ul", "offers");
    search.form.append(offers);
    const offer = () => {
      const words = wordsOf(search);
      const has = (it) => words.every((word) => (it.address + " " + it.description).toLowerCase().includes(word));
      const begins = (it) => ("/" + it.address).includes("/" + words[0]);
      const all = words.length ? names.filter(has) : [];
      const found = [...all.filter(begins), ...all.filter((it) => !begins(it))].slice(0, 8);
      offers.replaceChildren(...found.map(({ path, address, description }) => {
        const link = make("a", "", address, make("span", "small", description));
        link.href = path;
        return make("li", "", link);
      }));
      say(words.length ? found.length + " offered" : "");
    };
    search.addEventListener("input", offer);
    search.form.addEventListener("keydown", (event) => { if (event.key === "Escape") { offers.replaceChildren(); search.focus(); } });
    offer();
  }, { once: true });

  // The filter of the documentation tree.
  const filter = document.querySelector("[data-filter]");
  if (filter) {
    const tree = document.querySelector(".tree");
    const matches = document.querySelector(".matches");
    const links = [...tree.querySelectorAll("a")];
    filter.addEventListener("input", () => {
      const words = wordsOf(filter);
      tree.hidden = words.length > 0;
      matches.hidden = !tree.hidden;
      if (matches.hidden) { say(""); return; }
      const found = links.map((link) => ({ link, rank: rank(link.textContent.trim().toLowerCase(), words) }))
        .filter((it) => it.rank >= 0).sort((a, b) => a.rank - b.rank).slice(0, 200);
      matches.replaceChildren(...found.map(({ link }) => {
        const copy = link.cloneNode(true);
        const kind = link.closest("ul").previousElementSibling?.matches(".kind, summary")
          ? link.closest("ul").previousElementSibling.firstChild.textContent.trim() : "";
        if (kind) copy.append(make("span", "small", " " + kind));
        return make("li", "", copy);
      }));
      if (!found.length) matches.append(make("li", "", "Nothing has this name. Press Enter to search the namespace."));
      say(found.length + (found.length === 1 ? " match" : " matches"));
    });
    filter.form.addEventListener("submit", (event) => {
      const first = matches.hidden ? null : matches.querySelector("a");
      if (first) { event.preventDefault(); location.assign(first.href); }
    });
    const current = tree.querySelector("[aria-current]");
    const sidebar = tree.parentElement;
    if (current && current.offsetTop > sidebar.clientHeight) sidebar.scrollTop = current.offsetTop - sidebar.clientHeight / 2;
  }

  // Filters of lists in the page. A group without matches hides, with its heading.
  for (const field of document.querySelectorAll("[data-filter-list]")) {
    const section = document.getElementById(field.dataset.filterList);
    const items = [...section.querySelectorAll(".field, tbody tr")].map((item) => ({ item, text: item.textContent.toLowerCase() }));
    const groups = [...section.querySelectorAll(".fields, .scroll")];
    const count = section.querySelector(".count");
    const none = make("p", "empty");
    none.hidden = true;
    section.append(none);
    field.hidden = false;
    field.addEventListener("input", () => {
      const words = wordsOf(field);
      let shown = 0;
      for (const { item, text } of items) {
        item.hidden = !words.every((word) => text.includes(word));
        shown += !item.hidden;
      }
      for (const group of groups) {
        group.hidden = !group.querySelector(".field:not([hidden]), tbody tr:not([hidden])");
        if (group.previousElementSibling.matches("h3")) group.previousElementSibling.hidden = group.hidden;
      }
      none.hidden = shown > 0;
      none.textContent = "No " + section.id.slice(5, -1) + " matches “" + field.value.trim() + "”.";
      count.textContent = words.length ? shown + " of " + items.length : items.length;
      say(words.length ? count.textContent : "");
    });
  }

  // A menu closes when the reader goes elsewhere, or presses Escape.
  for (const menu of document.querySelectorAll("details.menu")) {
    addEventListener("click", (event) => { if (!menu.contains(event.target)) menu.open = false; });
    menu.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && menu.open) { menu.open = false; menu.querySelector("summary").focus(); }
    });
  }
})();
