// Opens the file of `ralph report --html` in Chromium. The test in web.rs writes the file.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { FILE, BROWSER, MODULES, RUN } = process.env;
const require = createRequire(join(MODULES, 'node_modules/'));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const file = pathToFileURL(FILE).href;
const profile = mkdtempSync(join(tmpdir(), 'ralph-report-'));
const flags = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];

/** What each view shows of the run. */
const VIEWS = [
  ['#/', 'Overview'], ['#/plan?view=board', 'onerror'], ['#/plan?view=graph', 'onerror'], ['#/task/a', 'Attempt 1'], ['#/task/a', 'a.txt'],
  ['#/runs', RUN], [`#/run/${RUN}`, `Run ${RUN}`], ['#/cost', 'Timeline of attempts'], ['#/task/nope', 'There is no task nope in this report'],
];

const complaints = [];
const context = await chromium.launchPersistentContext(profile, { executablePath: BROWSER, args: flags, chromiumSandbox: false, bypassCSP: false });
try {
  const page = await context.newPage();
  page.on('console', message => { if (['error', 'warning'].includes(message.type())) complaints.push(message.text()); });
  page.on('pageerror', error => complaints.push(error.stack));
  page.on('request', request => { if (!/^(file|data):/.test(request.url())) complaints.push(`asks for ${request.url()}`); });
  for (const [hash, shown] of VIEWS) {
    await page.goto(file + hash);
    await page.waitForFunction(text => document.querySelector('#main')?.textContent.includes(text), shown, { timeout: 10_000 });
    await page.evaluate(axe);
    const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
    for (const one of found.violations) if (['serious', 'critical'].includes(one.impact)) complaints.push(`${hash}: ${one.id} ${one.nodes[0].target}`);
    if (await page.locator('#add:visible, #main button:has-text("Retry"), #main button:has-text("Pause")').count()) complaints.push(`${hash} has a button that changes something`);
  }
  if (await page.evaluate(() => globalThis.hacked !== undefined)) complaints.push('a title of a task ran');
  await page.evaluate(() => fetch('http://127.0.0.1:9/').then(() => { globalThis.left = 1; }, () => {}));
  if (await page.evaluate(() => globalThis.left === 1)) complaints.push('the file may reach the network');
} catch (error) {
  complaints.push(error.stack);
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true });
}
// The attempt above is what the policy of the file refuses.
const unexpected = complaints.filter(one => !one.includes('127.0.0.1:9'));
if (unexpected.length) {
  console.error(unexpected.join('\n'));
  process.exitCode = 1;
}
