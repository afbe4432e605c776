// Prints what users read on each view of a page in a file, as Chromium renders it. The test in web.rs writes the file.
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { FILE, BROWSER, MODULES, VIEWS } = process.env;
const { chromium } = createRequire(join(MODULES, 'node_modules/'))('playwright-core');
const profile = mkdtempSync(join(tmpdir(), 'ralph-recorded-'));
const flags = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];

/** The text of the view without blanks at the ends of lines and without several empty lines in a row. */
const tidy = text => text.replaceAll('\u00a0', ' ').replace(/[ \t]+$/gm, '').replace(/\n{3,}/g, '\n\n').trim();

const context = await chromium.launchPersistentContext(profile, {
  executablePath: BROWSER, args: flags, chromiumSandbox: false, viewport: { width: 1280, height: 900 }, locale: 'en-US', timezoneId: 'UTC', reducedMotion: 'reduce',
});
try {
  await context.addInitScript(() => {
    globalThis.drawn = () => new Promise(done => { requestAnimationFrame(() => requestAnimationFrame(done)); });
  });
  for (const view of VIEWS.split(' ')) {
    const page = await context.newPage();
    page.on('pageerror', error => { throw error; });
    await page.goto(pathToFileURL(FILE).href + view);
    await page.waitForFunction(() => document.querySelector('#main h1'));
    // A diff is asked for once it is in sight, and shown when it has come.
    for (const part of await page.locator('#main .panel').all()) await part.evaluate(el => { el.scrollIntoView(); return drawn(); });
    await page.waitForFunction(() => [...document.querySelectorAll('#main .loading')].every(el => !el.checkVisibility()));
    await page.evaluate(() => drawn());
    console.log(`==== ${view}: ${await page.title()}\n\n${tidy(await page.locator('#main').innerText())}\n`);
    await page.close();
  }
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true });
}
