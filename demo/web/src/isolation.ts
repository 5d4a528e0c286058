const tried = 'isolation';

/**
 * Makes the page cross-origin isolated, so that it may have threads, where its server does not: a service worker adds the
 * headers, and the page is loaded once more through it. Gives false while that is under way. Where it does not succeed,
 * the page goes on with one thread.
 */
export async function isolated(): Promise<boolean> {
  if (crossOriginIsolated || !('serviceWorker' in navigator) || sessionStorage.getItem(tried)) return true;
  sessionStorage.setItem(tried, 'yes'); // once: a page that is not isolated afterwards stays so
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
