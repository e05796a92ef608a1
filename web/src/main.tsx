import '@mantine/core/styles.layer.css';
import '@mantine/notifications/styles.layer.css';
import './app/app.css';
import { MantineProvider } from '@mantine/core';
import { ModalsProvider } from '@mantine/modals';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode, useEffect } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient } from './app/query-client';
import { router } from './app/router';
import { session } from './app/session';
import { cssVariables, theme } from './app/theme';
import { ready } from './i18n';

let wasSignedIn = session.current !== undefined;
let wasLapsed = false;
// Loaded data belongs to the previous user and tenant, which another tab may have changed as well. A sign-out preserves the
// path to return to.
session.subscribe(() => {
  const isBack = wasLapsed && session.current !== undefined;
  wasLapsed = session.isLapsed;
  if (wasLapsed) return;
  if (!session.current) queryClient.clear();
  // The same user has signed in again, so the page and its forms stay.
  else if (isBack) void queryClient.invalidateQueries();
  else if (wasSignedIn) void queryClient.resetQueries();
  wasSignedIn = session.current !== undefined;
  void router.invalidate();
});

const TOAST_MARGIN_PX = 16;

/** Toasts have their own strip of the window. Everything else ends above it (app.css). */
function ToastStrip() {
  useEffect(() => {
    const element = document.querySelector('[data-toasts][data-position="bottom-right"]');
    if (!element) return;
    const observer = new ResizeObserver(() => {
      const height = Math.ceil(element.getBoundingClientRect().height);
      const strip = height === 0 ? 0 : height + 2 * TOAST_MARGIN_PX;
      document.documentElement.style.setProperty('--plinth-toasts', `${strip}px`);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return <Notifications data-toasts position="bottom-right" limit={3} />;
}

const place = document.getElementById('root');
if (!place) throw new Error('The page has no element with the id root.');
await ready;
createRoot(place).render(
  <StrictMode>
    <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto">
      <QueryClientProvider client={queryClient}>
        <ModalsProvider>
          <ToastStrip />
          <RouterProvider router={router} />
        </ModalsProvider>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
