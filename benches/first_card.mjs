// Opens the board of `ralph serve` in a new browser, and prints the milliseconds from the navigation to the first card.
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const { LINK, BROWSER, MODULES } = process.env;
const { chromium } = createRequire(join(MODULES, 'node_modules/'))('playwright-core');
const profile = mkdtempSync(join(tmpdir(), 'ralph-card-'));
const args = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const context = await chromium.launchPersistentContext(profile, { executablePath: BROWSER, args, chromiumSandbox: false, viewport: { width: 1280, height: 800 } });
try {
  const { origin, port, searchParams } = new URL(LINK);
  await context.addCookies([{ name: `ralph_${port}`, value: searchParams.get('token'), url: origin }]);
  const page = await context.newPage();
  const began = performance.now();
  await page.goto(`${origin}/#/plan?view=board`, { waitUntil: 'commit' });
  await page.waitForSelector('a.card', { timeout: 30_000 });
  console.log(performance.now() - began);
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true });
}
