// The page itself: the tip that follows the mouse, themes, tables that sort, CSV to save, and the
// start of everything.

function addNode(parent, tag, attributes, text) {
  const node = document.createElement(tag);
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

// ---- the tip

const tip = document.getElementById('_tip');

function hideTip() {
  tip.hidden = true;
}

// content: head, a note beside it, lines of text, rows of a key, a name and a value.
function showTip(content, x, y) {
  tip.replaceChildren();
  const head = addNode(tip, 'div', {});
  addNode(head, 'strong', {}, content.head);
  if (content.note) addNode(head, 'span', {class: 'dim'}, `  ${content.note}`);
  for (const line of content.lines || []) addNode(tip, 'div', {class: 'dim'}, line);
  for (const row of content.rows || []) {
    const line = addNode(tip, 'div', {class: 'row'});
    addNode(line, 'span', {class: row.css});
    addNode(line, 'span', {class: 'what'}, row.name);
    addNode(line, 'span', {class: 'much'}, row.value);
  }
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const [width, height] = [document.documentElement.clientWidth, window.innerHeight];
  const right = x + 16 + box.width <= width - 4;
  tip.style.left = `${Math.max(4, right ? x + 16 : x - 16 - box.width)}px`;
  tip.style.top = `${Math.max(4, Math.min(y + 12, height - box.height - 4))}px`;
}

// ---- light and dark

const root = document.documentElement;
const prefersDark = window.matchMedia('(prefers-color-scheme: dark)');

function isDark() {
  return root.dataset.theme ? root.dataset.theme === 'dark' : prefersDark.matches;
}

// What was chosen is remembered where the browser allows it, which for files it may not.
function remembered(theme) {
  try {
    if (theme) localStorage.setItem('muster-theme', theme);
    return localStorage.getItem('muster-theme');
  } catch (error) {
    return null;
  }
}

function startThemes(redraw) {
  const button = document.getElementById('_theme');
  const name = () => button.textContent = isDark() ? 'Light theme' : 'Dark theme';
  const choice = remembered();
  if (choice === 'light' || choice === 'dark') root.dataset.theme = choice;
  name();
  button.addEventListener('click', () => {
    root.dataset.theme = isDark() ? 'light' : 'dark';
    remembered(root.dataset.theme);
    name();
    redraw();
  });
  prefersDark.addEventListener('change', () => {
    name();
    redraw();
  });
  // Paper is light: the style sees to all but what is on a canvas.
  let kept;
  window.addEventListener('beforeprint', () => {
    kept = root.dataset.theme;
    root.dataset.theme = 'light';
    redraw();
  });
  window.addEventListener('afterprint', () => {
    if (kept) root.dataset.theme = kept; else delete root.dataset.theme;
    redraw();
  });
}

// ---- tables

const cellValue = cell => cell.dataset.v !== undefined ? cell.dataset.v : cell.textContent;

// What is empty goes last, whichever way.
function compareCells(a, b, numeric, sign) {
  if (a === '' || b === '') return (a === '' ? 1 : 0) - (b === '' ? 1 : 0);
  return sign * (numeric ? Number(a) - Number(b) : a.localeCompare(b, 'en', {numeric: true}));
}

function startTable(table) {
  const body = table.tBodies[0];
  const asWritten = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.firstChild.addEventListener('click', () => {
    const numeric = head.classList.contains('num');
    const first = numeric ? 'descending' : 'ascending';
    const second = numeric ? 'ascending' : 'descending';
    const now = head.getAttribute('aria-sort');
    const next = now === null ? first : now === first ? second : null;
    heads.forEach(each => each.removeAttribute('aria-sort'));
    if (next === null) return body.append(...asWritten);
    head.setAttribute('aria-sort', next);
    const sign = next === 'ascending' ? 1 : -1;
    const rows = asWritten.map(row => [cellValue(row.cells[column]), row]);
    rows.sort((a, b) => compareCells(a[0], b[0], numeric, sign));
    body.append(...rows.map(pair => pair[1]));
  }));
}

// ---- CSV

function csvField(value) {
  if (value === null || value === undefined) return '';
  const text = String(value);
  return /[",\r\n]|^ | $/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function tableRows(table) {
  return [[...table.tHead.rows[0].cells].map(cell => cell.textContent),
    ...[...table.tBodies[0].rows].map(row => [...row.cells].map(cellValue))];
}

function plotRows(plot) {
  const bars = plot.kind === 'bars';
  return [['series', bars ? 'category' : 'x', 'y'], ...plot.series.flatMap(series =>
    series.y.map((y, i) => [series.name, bars ? plot.categories[i] : series.x[i], y]))];
}

function ganttRows(gantt) {
  const from = gantt.window[0];
  return [['group', 'row', 'label', 'begin_s', 'end_s'], ...gantt.row.map((row, i) => {
    const begin = from + gantt.begin[i];
    return [gantt.groups[gantt.group[row]], row, gantt.labels[gantt.label[i]],
      Number(begin.toFixed(6)), Number((begin + gantt.length[i]).toFixed(6))];
  })];
}

function save(name, rows) {
  const text = rows.map(row => row.map(csvField).join(',')).join('\n') + '\n';
  const address = URL.createObjectURL(new Blob([text], {type: 'text/csv'}));
  const link = addNode(document.body, 'a', {href: address, download: name});
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

function startSaving(data) {
  const plots = new Map(data.plots.map(plot => [plot.key, plot]));
  const gantts = new Map(data.gantts.map(gantt => [gantt.key, gantt]));
  for (const button of document.querySelectorAll('.save')) {
    const {key} = button.dataset;
    button.addEventListener('click', () => {
      const rows = plots.has(key) ? plotRows(plots.get(key)) :
        gantts.has(key) ? ganttRows(gantts.get(key)) :
          tableRows(button.closest('.table').querySelector('table'));
      save(`${key}.csv`, rows);
    });
  }
}

// ---- the rest

// Where the clipboard is out of reach, the text is at least marked, ready to be copied.
function startCopying() {
  for (const button of document.querySelectorAll('.copy')) {
    const code = button.parentNode.querySelector('code');
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = 'Copied';
      } catch (error) {
        getSelection().selectAllChildren(code);
        button.textContent = 'Marked';
      }
      setTimeout(() => button.textContent = 'Copy', 1500);
    });
  }
}

// Marks the section that is being read: the last one that began above a third of the window.
function startContents() {
  const links = new Map([...document.querySelectorAll('.toc a')].map(
    link => [link.getAttribute('href').slice(1), link]));
  const cards = [...document.querySelectorAll('.card')];
  let asked = false;
  const mark = () => {
    asked = false;
    const line = window.innerHeight / 3;
    const atEnd = window.scrollY + window.innerHeight >= root.scrollHeight - 4;
    const begun = cards.filter(card => card.getBoundingClientRect().top <= line);
    const here = atEnd ? cards[cards.length - 1] : begun[begun.length - 1] || cards[0];
    for (const [id, link] of links) link.classList.toggle('here', here && id === here.id);
  };
  window.addEventListener('scroll', () => {
    if (!asked) requestAnimationFrame(mark);
    asked = true;
  }, {passive: true});
  mark();
}

function start() {
  const data = JSON.parse(document.getElementById('_data').textContent);
  const figures = kind => [...document.querySelectorAll(`figure.${kind}`)];
  const plots = figures('plot').map((figure, i) => new PlotView(figure, data.plots[i]));
  const gantts = figures('gantt').map((figure, i) => new GanttView(figure, data.gantts[i]));
  const views = new Map();
  for (const view of [...plots, ...gantts]) {
    views.set((view.svg || view.canvas).parentNode, view);
  }
  // All widths first: asking for one after drawing would lay the page out again and again.
  const widths = [...views].map(([host, view]) => [view, host.clientWidth]);
  for (const [view, width] of widths) view.width = Math.max(160, width);
  for (const view of plots) view.draw(view.width);
  const watch = new ResizeObserver(entries => {
    for (const entry of entries) {
      const view = views.get(entry.target);
      const width = Math.max(160, Math.floor(entry.contentRect.width));
      if (width !== view.width) view.draw(width);
    }
  });
  for (const host of views.keys()) watch.observe(host);
  startThemes(() => gantts.forEach(view => view.draw(view.width)));
  document.querySelectorAll('.table table').forEach(startTable);
  startSaving(data);
  startCopying();
  startContents();
  window.addEventListener('scroll', hideTip, {passive: true});
  performance.mark('page-ready');
  drawAll(gantts);
}

// One at a time, so that the page can be read and scrolled meanwhile.
function drawAll(views) {
  if (views.length === 0) return performance.mark('page-drawn');
  setTimeout(() => {
    views[0].draw(views[0].width);
    drawAll(views.slice(1));
  });
}

start();
