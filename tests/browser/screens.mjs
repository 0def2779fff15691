// Helpers for all screens of the dashboard.

import assert from 'node:assert/strict';

// The screens in the navigation bar of a live manager.
export const SCREENS = ['fleet', 'queue', 'tenants', 'timeline', 'compare', 'nodes'];

// Browser messages about a server that does not run or was killed during a response.
export const GONE = new RegExp('net::ERR_(CONNECTION_REFUSED|CONNECTION_RESET|CONNECTION_CLOSED|EMPTY_RESPONSE|' +
  'INCOMPLETE_CHUNKED_ENCODING|CONTENT_LENGTH_MISMATCH)');

export const go = (page, hash) => page.evaluate(to => location.hash = to, hash);

// Checks that there is one first-level heading, that it comes first, and that no level is skipped.
export async function headed(page, where) {
  const levels = await page.evaluate(() => [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')]
    .filter(heading => heading.checkVisibility()).map(heading => Number(heading.localName[1])));
  assert.ok(levels.every((level, i) => i === 0 ? level === 1 : level > 1 && level <= levels[i - 1] + 1) &&
    levels.length > 0, `${where}: levels of headings ${levels}`);
}

// Waits until this screen of the bar is shown and nothing visible is still loading.
export async function opened(page, screen) {
  await page.locator(`nav a[aria-current=page][href="#/${screen}"]`).waitFor();
  await page.waitForFunction(() => document.querySelector('main > *') && [...document.querySelectorAll('main .loading')]
    .every(one => one.getBoundingClientRect().top > innerHeight));
  assert.equal(await page.locator('main .trouble').count(), 0, screen);
  await headed(page, screen);
}

// Checks that a short list ends with its last row, and that no column title is cut off, sorted by any column.
export async function listFits(page, label) {
  const list = page.locator('.vtable').filter({has: page.getByRole('grid', {name: label})});
  const below = await list.evaluate(table => table.querySelector('.vbody').getBoundingClientRect().bottom -
    table.querySelector('.vrows').getBoundingClientRect().bottom);
  assert.ok(below >= 0 && below < 2, `${label}: ${below} px below the last row`);
  const sorts = list.locator('.vhead .sort');
  for (let i = await sorts.count() - 1; i >= 0; i--) {
    await sorts.nth(i).click();
    await sorts.nth(i).filter({hasText: /[↑↓]/}).waitFor();
    assert.deepEqual(await list.locator('.vhead .vcell').evaluateAll(cells => cells
      .filter(cell => cell.scrollWidth > cell.clientWidth).map(cell => cell.textContent)), [], label);
  }
}

export async function open(page, screen) {
  await go(page, `#/${screen}`);
  await opened(page, screen);
}

// Passes the body of each answer (without streams) to `see`; the page gets the result.
export const answers = (page, see) => page.route(
  url => url.pathname.startsWith('/v1/') && !url.searchParams.has('follow'), async route => {
    try {
      const answer = await route.fetch({maxRetries: 3, timeout: 120_000});
      await route.fulfill({response: answer, body: see(await answer.text(), answer.url())});
    } catch {
      await route.abort().catch(() => {});  // The page has navigated away, or is closed.
    }
  });

// Runs in the page. Returns texts whose contrast to the background is below WCAG AA. Skips texts on images.
function faint() {
  const pen = Object.assign(document.createElement('canvas'), {width: 1, height: 1})
    .getContext('2d', {willReadFrequently: true});
  const known = new Map();
  const rgba = color => {
    if (!known.has(color)) {
      pen.clearRect(0, 0, 1, 1);
      pen.fillStyle = color;
      pen.fillRect(0, 0, 1, 1);
      known.set(color, [...pen.getImageData(0, 0, 1, 1).data]);
    }
    return known.get(color);
  };
  const over = (above, below) => above.slice(0, 3).map((c, i) => (c * above[3] + below[i] * (255 - above[3])) / 255);
  const ground = element => {
    if (!element) return [255, 255, 255];
    const style = getComputedStyle(element);
    if (style.backgroundImage !== 'none') return null;
    const own = rgba(style.backgroundColor);
    if (own[3] === 255) return own;
    const below = ground(element.parentElement);
    return below && over(own, below);
  };
  const light = color => color.slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const wrong = [];
  let seen = 0;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement;
    const words = walk.currentNode.data.trim();
    if (!words || !element.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
    if (element.closest('.unseen, .skip, :disabled, datalist, option')) continue;
    const below = ground(element);
    if (!below) continue;
    const style = getComputedStyle(element);
    const ink = over(rgba(element instanceof SVGElement ? style.fill : style.color), below);
    const [low, high] = [light(ink), light(below)].sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    seen++;
    if (ratio < (large ? 3 : 4.5)) wrong.push(`${words.slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return {seen, wrong};
}

// Checks that all texts have sufficient contrast.
export async function readable(page, where) {
  const {seen, wrong} = await page.evaluate(faint);
  assert.ok(seen > 8, `${where}: ${seen} texts`);
  assert.deepEqual(wrong, [], `${where}: too faint`);
}
