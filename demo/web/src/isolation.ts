const tried = 'isolation';

/**
 * Makes the page cross-origin isolated, which threads require, if its server does not: a service worker adds the headers,
 * and the page is reloaded through it. Returns false during the reload. If it fails, the page continues with one thread.
 */
export async function isolated(): Promise<boolean> {
  if (crossOriginIsolated || !('serviceWorker' in navigator) || sessionStorage.getItem(tried)) return true;
  sessionStorage.setItem(tried, 'yes'); // only once: otherwise a page that cannot be isolated would reload forever
  try {
    const registration = await navigator.serviceWorker.register('isolation.js');
    const worker = registration.installing ?? registration.waiting ?? registration.active;
    await new Promise<void>((done, failed) => {
      const look = () => {
        if (worker?.state === 'activated') done();
        if (worker?.state === 'redundant') failed(new Error('the service worker was not installed'));
      };
      worker?.addEventListener('statechange', look);
      look();
    });
  } catch (error) {
    console.info('no threads: the page cannot be isolated', error);
    return true;
  }
  location.reload();
  return false;
}
