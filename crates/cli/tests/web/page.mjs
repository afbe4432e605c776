// Drives the page of a real `ralph serve` in Chromium. The test in web.rs sets up the repository and checks what ralph did;
// here is what the browser shows. Each failed check ends the process with an exit code of 1.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const { LINK, LOOK, BROWSER, MODULES, SCREENS, NOTES, RUN } = process.env;
const require = createRequire(join(MODULES, 'node_modules/'));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const origin = new URL(LINK).origin;
const profile = mkdtempSync(join(tmpdir(), 'ralph-page-'));
const flags = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];

function check(so, what) {
  if (!so) throw new Error(`not so: ${what}`);
}

function step(what) {
  console.log(`${((Date.now() - began) / 1000).toFixed(1)}s ${what}`);
}
const began = Date.now();

/** What the page complains about; a page is expected to complain about nothing. */
const complaints = [];
function listen(page) {
  page.on('console', message => { if (message.type() === 'error' || message.type() === 'warning') complaints.push(`${page.url()}: ${message.text()}`); });
  page.on('pageerror', error => complaints.push(`${page.url()}: ${error.stack}`));
  page.on('requestfailed', request => {
    if (request.failure()?.errorText !== 'net::ERR_ABORTED') complaints.push(`${request.url()}: ${request.failure()?.errorText}`);
  });
  page.on('request', request => { if (!request.url().startsWith(origin) && !request.url().startsWith('data:')) complaints.push(`asks elsewhere: ${request.url()}`); });
}

const VIEWS = [
  ['overview', '#/'], ['board', '#/plan?view=board'], ['graph', '#/plan?view=graph'], ['task', '#/task/b'], ['question', '#/task/a'], ['runs', '#/runs'],
  ['run', `#/run/${RUN}`], ['cost', '#/cost'],
];

async function open(page, hash) {
  await page.evaluate(to => { location.hash = to; }, hash);
  await page.waitForFunction(() => document.querySelector('#main h1') && ![...document.querySelectorAll('#main .loading')].some(one => one.checkVisibility()), null, { timeout: 10_000 });
  const failed = await page.locator('#main .bad[role=alert]').allTextContents();
  check(failed.length === 0, `${hash} shows no failure: ${failed}`);
}

/** What axe finds that keeps somebody from using the page. */
async function barriers(page) {
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  return found.violations.filter(one => one.impact === 'serious' || one.impact === 'critical')
    .map(one => `${one.id}: ${one.nodes.slice(0, 3).map(node => `${node.target}: ${node.failureSummary}`).join('; ')}`);
}

async function main(context) {
  // Without the token there is nothing, not even the page.
  const stranger = await context.newPage();
  const refused = await stranger.goto(`${origin}/`);
  check(refused.status() === 401, 'no page without a token');
  check((await stranger.goto(`${origin}/?token=wrong`)).status() === 401, 'no page with a wrong token');
  await stranger.close();

  const page = await context.newPage();
  listen(page);
  await page.goto(LINK);
  check(page.url() === `${origin}/`, `the token leaves the address: ${page.url()}`);
  check(await page.evaluate(() => document.cookie) === '', 'scripts cannot read the token');
  await page.waitForSelector('article.slot');
  step('the page shows the run');

  // What the agent says is there at once, and is text whatever it contains.
  await page.waitForFunction(() => document.querySelector('.stream')?.textContent.includes('Here I am'), null, { timeout: 10_000 });
  writeFileSync(join(NOTES, 'go'), '');
  const waited = Date.now();
  await page.waitForFunction(() => document.querySelector('.stream')?.textContent.includes('SECOND'), null, { timeout: 10_000, polling: 20 });
  const said = Number(readFileSync(join(NOTES, 'said'), 'utf8')) * 1000;
  step(`the next words came ${Date.now() - said} ms after the agent began them (${Date.now() - waited} ms)`);
  check(Date.now() - said < 1000 + 200, 'text of the agent is there within a second');
  check(await page.evaluate(() => globalThis.hacked === undefined), 'no text of the agent ran');
  check(await page.locator('#main img, #main script, #main iframe').count() === 0, 'no text of the agent became an element');
  const stream = await page.locator('.stream').first().textContent();
  check(stream.includes('<img src=x onerror=') && stream.includes('<script>'), `hostile text is shown as text: ${stream}`);
  check(!stream.includes('\u001b'), 'escape codes are not in the page');

  // Every view, light and dark, on a desktop and a phone.
  mkdirSync(SCREENS, { recursive: true });
  const faults = [];
  for (const scheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
    for (const [name, hash] of VIEWS) {
      await open(page, hash);
      await page.evaluate(axe);
      for (const fault of await barriers(page)) faults.push(`${name}, ${scheme}: ${fault}`);
      for (const [device, width, height] of [['desktop', 1280, 800], ['phone', 390, 844]]) {
        await page.setViewportSize({ width, height });
        await page.waitForTimeout(50);
        await page.screenshot({ path: join(SCREENS, `${name}-${scheme}-${device}.png`) });
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        if (wide > 0) faults.push(`${name}, ${device}: ${wide} pixels wider than the screen`);
      }
      await page.setViewportSize({ width: 1280, height: 800 });
    }
  }
  check(faults.length === 0, `every view can be used by all:\n${faults.join('\n')}`);
  step('all views were seen');

  // Other pages cannot act, and a read-only link cannot either.
  const foreign = await page.request.post(`${origin}/api/action`, { data: { do: 'cancel', after: 'now' }, headers: { Origin: 'http://evil.example' } });
  check(foreign.status() === 403, `a foreign origin is refused: ${foreign.status()}`);
  const evil = await context.newPage();
  await evil.route('http://evil.example/', route => route.fulfill({ contentType: 'text/html', body: '<p>evil</p>' }));
  await evil.goto('http://evil.example/');
  const stolen = await evil.evaluate(async to => {
    const post = await fetch(`${to}/api/action`, { method: 'POST', credentials: 'include', mode: 'no-cors', body: '{"do":"cancel","after":"now"}' }).then(one => one.type, error => String(error));
    const read = await fetch(`${to}/api/status`, { credentials: 'include' }).then(one => one.text(), () => 'refused');
    return { post, read };
  }, origin);
  check(stolen.read === 'refused', `another page reads nothing: ${JSON.stringify(stolen)}`);
  await evil.close();
  const look = await context.browser()?.newContext() ?? null;
  if (look) {
    const only = await look.newPage();
    await only.goto(LOOK);
    await only.waitForSelector('article.slot');
    check(await only.locator('#main button:has-text("Pause")').count() === 0, 'a read-only page has no buttons that change something');
    await look.close();
  }

  // What waits for you is answered and approved here.
  await open(page, '#/');
  await page.locator('.need:has-text("Which port?") textarea').fill('8080 <b>');
  await page.locator('.need:has-text("Which port?") button:has-text("Answer")').click();
  await page.waitForFunction(() => ![...document.querySelectorAll('.need')].some(one => one.textContent.includes('Which port?')), null, { timeout: 10_000 });
  step('the question is answered');
  await page.locator('.need button:has-text("Approve")').click();
  await page.waitForFunction(() => ![...document.querySelectorAll('.need button')].some(one => one.textContent === 'Approve'), null, { timeout: 10_000 });
  step('the work is approved');

  await page.locator('summary:has-text("Stop")').click();
  await page.locator('button:has-text("Now")').click();
  const confirm = page.locator('dialog button[type=submit]');
  if (await confirm.count() > 0) await confirm.click();
  await page.waitForFunction(() => /ended|No session is running/.test(document.querySelector('#main')?.textContent ?? ''), null, { timeout: 15_000 });
  step('the run is cancelled');
  check(complaints.length === 0, `the page complains about nothing:\n${complaints.join('\n')}`);
}

const context = await chromium.launchPersistentContext(profile, { executablePath: BROWSER, args: flags, chromiumSandbox: false, viewport: { width: 1280, height: 800 } });
try {
  await main(context);
} catch (error) {
  console.error(error.stack);
  if (complaints.length) console.error(complaints.join('\n'));
  const page = context.pages().at(-1);
  await page?.screenshot({ path: join(SCREENS, 'failed.png') }).catch(() => {});
  process.exitCode = 1;
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true });
}
