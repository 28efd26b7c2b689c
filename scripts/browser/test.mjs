// Opens pages of the built book in Chromium and fails on a console error, a serious accessibility violation, or a
// page that scrolls sideways.
//
//   node test.mjs BOOK CHROMIUM [SCREENSHOTS]

import { createServer } from 'node:http';
import { mkdir, readFile, stat } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const [book, executable, screenshots] = process.argv.slice(2);
const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const PAGES = [
  'index.html', 'day26_sum.html', 'how-the-numbers-are-verified.html', 'choosing_a_cure.html', 'native_or_cas.html',
  'gpus.html', 'sources.html', 'glossary.html',
];
const WIDTHS = [{ name: 'desktop', width: 1280, height: 900 }, { name: 'phone', width: 360, height: 740 }];
const THEMES = ['light', 'navy'];
// The other themes are looked at once: their colours differ, their layout does not.
const OTHER_THEMES = ['rust', 'coal', 'ayu'];

const TYPES = {
  '.html': 'text/html; charset=utf-8', '.css': 'text/css', '.js': 'text/javascript', '.svg': 'image/svg+xml',
  '.png': 'image/png', '.woff2': 'font/woff2', '.json': 'application/json', '.yaml': 'text/plain; charset=utf-8',
};

// A page with one fault of each kind that the test must find.
const FAULTY = `<!doctype html><html lang="en"><title>t</title><body style="background:#fff"><main><h1>h</h1>
  <p style="color:#eee">unreadable</p><div style="width:3000px">wide</div><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">
  <script>console.error('broken')</script></main></body></html>`;

async function answer(request, response) {
  const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
  if (path === '/faulty.html') return response.writeHead(200, { 'content-type': TYPES['.html'] }).end(FAULTY);
  let file = join(book, normalize(path));
  try {
    if ((await stat(file)).isDirectory()) file = join(file, 'index.html');
    response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' });
    response.end(await readFile(file));
  } catch {
    response.writeHead(404).end('not found');
  }
}

async function faultsOf(browser, origin, path, theme, size) {
  const context = await browser.newContext({ viewport: { width: size.width, height: size.height } });
  await context.addInitScript((theme) => localStorage.setItem('mdbook-theme', theme), theme);
  const page = await context.newPage();
  const faults = [];
  page.on('console', (message) => message.type() === 'error' && faults.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => faults.push(`script: ${error.message}`));
  page.on('requestfailed', (request) => faults.push(`request failed: ${request.url()}`));
  const reply = await page.goto(`${origin}/${path}`, { waitUntil: 'networkidle' });
  if (!reply.ok()) faults.push(`answered ${reply.status()}`);
  // Colours fade in; contrast is judged at rest, and with everything that can be opened open.
  await page.addStyleTag({ content: '*, *::before, *::after { transition: none !important; animation: none !important; }' });
  if (screenshots && path !== 'faulty.html') {
    await mkdir(screenshots, { recursive: true });
    const name = `${path.replace('.html', '')}-${theme}-${size.name}.png`;
    await page.screenshot({ path: join(screenshots, name), fullPage: true });
  }
  await page.evaluate(() => document.querySelectorAll('details').forEach((details) => (details.open = true)));
  const [wide, visible] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  if (wide > visible) faults.push(`the page is ${wide} px wide where ${visible} px are visible`);
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  for (const { id, impact, help, nodes } of violations) {
    if (impact !== 'serious' && impact !== 'critical') continue;
    const where = nodes.slice(0, 3).map((node) => `${node.target.join(' ')}  ${node.html.slice(0, 120)}`);
    faults.push(`${impact}: ${id}: ${help} (${nodes.length})\n      ${where.join('\n      ')}`);
  }
  await context.close();
  return faults;
}

/** The test finds what is wrong with a page on which everything is. */
async function canFail(browser, origin) {
  const faults = (await faultsOf(browser, origin, 'faulty.html', 'light', WIDTHS[1])).join('\n');
  const missing = ['console: broken', 'px wide', 'color-contrast', 'image-alt'].filter((sign) => !faults.includes(sign));
  if (missing.length) throw new Error(`the faulty page was not found faulty: ${missing.join(', ')} of:\n${faults}`);
}

/** A reader's file over a chart: a good one is drawn, every other one is refused in words. */
async function ownPoints(browser, origin) {
  const page = await browser.newPage();
  await page.goto(`${origin}/day26_sum.html`, { waitUntil: 'networkidle' });
  const box = page.locator('figure.chart .own-points').first();
  const chart = await page.locator('figure.chart[data-lab]').first().evaluate((element) => ({ ...element.dataset }));
  const [line] = JSON.parse(chart.lines);
  const at = (x) => ({ ...JSON.parse(chart.at), [chart.axis]: x });
  const figures = line.points.map(([x, y]) => ({ name: chart.figure, variant: line.name, at: at(x), samples: [`${y} ${2 * y} ${3 * y}`] }));
  const record = { schema: 1, lab: chart.lab, gpu: { name: '<b>Made-up</b>' }, figures };
  const faults = [];
  const open = async (buffer, wanted, rings) => {
    await box.locator('input').setInputFiles({ name: 'my.json', mimeType: 'application/json', buffer: Buffer.from(buffer) });
    const status = box.locator('[role=status]');
    await status.filter({ hasText: wanted }).waitFor({ timeout: 20000 }).catch(async () => {
      faults.push(`own points: '${wanted}' was expected, the page says '${await status.textContent()}'`);
    });
    const drawn = await page.locator('figure.chart .own-point').count();
    if (drawn !== rings) faults.push(`own points: ${drawn} rings where ${rings} were expected (${wanted})`);
  };
  await open(JSON.stringify(record), `${figures.length} points of <b>Made-up</b> as rings, a draft; 2.00 to 2.00 times`, figures.length);
  await open('{"schema": 1, "lab"', 'is not JSON', 0);
  await open('[1, 2, 3]', 'is no result of labs', 0);
  await open('null', 'is no result of labs', 0);
  await open('{"lab": "day26_sum", "backend": "simulator", "counts": []}', 'comes from the simulator', 0);
  await open(JSON.stringify({ ...record, schema: 2 }), 'is of schema 2', 0);
  await open(JSON.stringify({ ...record, lab: 'day27_address' }), 'open it on that lab', 0);
  await open(JSON.stringify({ ...record, figures: [{ name: 'time' }] }), 'cut or edited', 0);
  await open(JSON.stringify({ ...record, figures: [] }), 'the simulator gives none', 0);
  await open(' '.repeat(51e6), '51 MB', 0);
  await page.close();
  return faults;
}

/** Rows chosen away on the screen are on paper all the same. */
async function cellsFilter(browser, origin) {
  const page = await browser.newPage();
  await page.goto(`${origin}/native_or_cas.html`, { waitUntil: 'networkidle' });
  const rows = page.locator('.cells tr[data-operation]');
  const visible = () => rows.evaluateAll((all) => all.filter((row) => row.offsetParent !== null).length);
  const all = await visible();
  await page.locator('select[data-filter=type]').selectOption('f16');
  const some = await visible();
  await page.emulateMedia({ media: 'print' });
  const printed = await visible();
  await page.close();
  const fine = all > 100 && some > 0 && some < all / 4 && printed === all;
  return fine ? [] : [`native or CAS: ${all} rows, ${some} of f16, ${printed} printed`];
}

const server = createServer(answer);
await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
const origin = `http://127.0.0.1:${server.address().port}`;
const browser = await chromium.launch({
  executablePath: executable,
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync'],
});
let failed = 0;
try {
  await canFail(browser, origin);
  for (const [name, test] of [['own points over a chart', ownPoints], ['the filter of native or CAS', cellsFilter]]) {
    const faults = await test(browser, origin);
    console.log(`${faults.length ? 'FAIL' : 'ok  '} ${name}`);
    for (const fault of faults) console.log(`    ${fault}`);
    failed += faults.length;
  }
  const cases = PAGES.flatMap((path) => [
    ...THEMES.flatMap((theme) => WIDTHS.map((size) => [path, theme, size])),
    ...OTHER_THEMES.map((theme) => [path, theme, WIDTHS[0]]),
  ]);
  for (const [path, theme, size] of cases) {
    const faults = await faultsOf(browser, origin, path, theme, size);
    console.log(`${faults.length ? 'FAIL' : 'ok  '} ${path} ${theme} ${size.name}`);
    for (const fault of faults) console.log(`    ${fault}`);
    failed += faults.length;
  }
} finally {
  await browser.close();
  server.close();
}
if (failed) console.error(`error: ${failed} faults on the built pages`);
process.exit(failed ? 1 : 0);
