import '../app.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { loadLabels } from '../shared/text/labels.ts'
import { type LinkData, SharePage } from './share-page.tsx'

const root = document.getElementById('page') as HTMLElement
const failure = document.getElementById('page-failed') as HTMLElement

try {
  const data = JSON.parse(root.dataset['page'] ?? '') as LinkData
  await loadLabels()
  createRoot(root).render(
    <StrictMode>
      <SharePage {...data} />
    </StrictMode>,
  )
} catch (error) {
  // Without labels there is only the text that the page contains.
  failure.hidden = false
  throw error
}
