import './app.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { router } from './routes.tsx'
import { queryClient } from './shared/api/client.ts'
import { storeLinkSecret } from './shared/link-secret.ts'
import { loadLabels } from './shared/text/labels.ts'

storeLinkSecret()

// A chunk that fails to load may belong to an earlier build, so the page reloads when the service has a newer one. It
// stays as it is when the service cannot be reached.
addEventListener('vite:preloadError', async () => {
  const { pathname } = new URL(
    document.querySelector<HTMLScriptElement>('script[type=module]')?.src ?? '',
    location.href,
  )
  const page = await fetch(location.pathname).catch(() => undefined)
  if (page?.ok && !page.redirected && !(await page.text()).includes(pathname)) location.reload()
})

const root = document.getElementById('app')
if (!root) throw new Error('There is no element for the app.')
await loadLabels()
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
)
