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

const PAGES = ['index.html', 'day26_sum.html', 'how-the-numbers-are-verified.html'];
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
