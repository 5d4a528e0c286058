// Debian's Chromium, and helpers of the tests.
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { serve } from './serve.mjs';

const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update',
  '--disable-sync', '--no-first-run'];

export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: flags });

/** Serves the package's folder, and opens one browser context, while the tests of a file run: { site, browser, context }. */
export function packageInBrowser() {
  const opened = {};
  before(async () => {
    opened.site = await serve(fileURLToPath(new URL('../../web/dist', import.meta.url)));
    opened.browser = await launch();
    opened.context = await opened.browser.newContext();
  });
  after(async () => {
    await opened.browser?.close();
    opened.site?.close();
  });
  return opened;
}

/** A new page that lists errors of the browser in `page.complaints`, and yields of loops in its `turns`. */
export async function newPage(browser, options) {
  const page = await browser.newPage({ colorScheme: 'light', viewport: { width: 1280, height: 900 }, ...options });
  page.complaints = [];
  page.on('pageerror', (error) => page.complaints.push(String(error)));
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && page.complaints.push(message.text()));
  page.on('requestfailed', (request) => page.complaints.push(`${request.url()}: ${request.failure()?.errorText}`));
  await page.addInitScript(watchTurns);
  return page;
}

/** An empty page in the folder of packageInBrowser(). */
export async function emptyPage({ context, site }) {
  const page = await newPage(context), address = `${site.url}empty.html`;
  await page.route(address, (route) => route.fulfill({ body: '<!doctype html><link rel="icon" href="data:,">', contentType: 'text/html' }));
  await page.goto(address);
  return page;
}

/** Records when a loop got the thread and when it yielded, seen from outside: it yields by posting a message. */
function watchTurns() {
  const turns = (globalThis.turns = []);
  const post = MessagePort.prototype.postMessage;
  const ping = new MessageChannel();
  let began = 0;
  ping.port1.onmessage = () => (began = performance.now());
  MessagePort.prototype.postMessage = function (...message) {
    const ended = performance.now();
    if (began) turns.push({ began, ended });
    began = 0;
    post.call(ping.port2, null); // arrives just before the message that wakes the loop
    return post.apply(this, message);
  };
}

export const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
