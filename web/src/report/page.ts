// Theme, table of contents, saving and copying in a report.

import type {Cell} from '../types';
import {startTheme, toggleTheme} from '../theme';
import {saveCsv} from '../ui/cells';
import {type Data, ganttRows, plotRows} from './data';
import {startTable, tableRows} from './table';

const all = <T extends Element>(selector: string): T[] => [...document.querySelectorAll<T>(selector)];

function startThemeButton(): void {
  const button = document.getElementById('_theme')!;
  const name = () => {
    button.textContent = document.documentElement.dataset.theme === 'dark' ? 'Light theme' : 'Dark theme';
  };
  startTheme();
  name();
  new MutationObserver(name).observe(document.documentElement, {attributeFilter: ['data-theme']});
  button.addEventListener('click', toggleTheme);
}

function startSaving(data: Data): void {
  const drawn = new Map<string, () => Cell[][]>();
  for (const plot of data.plots) drawn.set(plot.key, () => plotRows(plot));
  for (const gantt of data.gantts) drawn.set(gantt.key, () => ganttRows(gantt));
  for (const button of all<HTMLElement>('.save')) {
    const key = button.dataset.key!;
    const rows = drawn.get(key) ?? (() => tableRows(button.closest('.table')!.querySelector('table')!));
    button.addEventListener('click', () => saveCsv(key, rows()));
  }
}

// Without access to the clipboard, it selects the text instead.
function startCopying(): void {
  for (const button of all<HTMLElement>('.copy')) {
    const code = button.parentElement!.querySelector('code')!;
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = 'Copied';
      } catch {
        getSelection()!.selectAllChildren(code);
        button.textContent = 'Selected';
      }
      window.setTimeout(() => {
        button.textContent = 'Copy';
      }, 1500);
    });
  }
}

// Marks the current section: the last one that begins in the upper third of the window, or above.
function startContents(): void {
  const links = all<HTMLAnchorElement>('.toc a');
  const cards = all<HTMLElement>('main > .card');
  let asked = false;
  const mark = () => {
    asked = false;
    const root = document.documentElement;
    const begun = cards.filter(card => card.getBoundingClientRect().top <= innerHeight / 3);
    const atEnd = scrollY + innerHeight >= root.scrollHeight - 4;
    const here = atEnd ? cards[cards.length - 1] : begun[begun.length - 1] ?? cards[0];
    for (const link of links) link.classList.toggle('here', link.hash.slice(1) === here?.id);
  };
  window.addEventListener('scroll', () => {
    if (!asked) requestAnimationFrame(mark);
    asked = true;
  }, {passive: true});
  mark();
}

export function startPage(data: Data): void {
  startThemeButton();
  all<HTMLTableElement>('.table table').forEach(startTable);
  startSaving(data);
  startCopying();
  startContents();
}
