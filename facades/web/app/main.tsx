import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { router } from './routes.tsx'
import { queryClient } from './shared/api/client.ts'
import { keepLinkSecret } from './shared/link-secret.ts'
import { loadLabels } from './shared/text/labels.ts'
import './app.css'

keepLinkSecret()

// A file of an earlier build that is gone: the page of the new one knows better names. Drafts are kept.
addEventListener('vite:preloadError', () => location.reload())

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
