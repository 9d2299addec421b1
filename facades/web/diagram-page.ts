import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { lazyPromise } from '../../routers/core/load/lazy-promise.ts'
import { Asset } from '../http/asset.ts'
import { writeFramePolicy } from './frame-policy.ts'

/** Draws a diagram, which arrives as a message with the colours of the page, and sends back its picture or the error. */
const drawScript = `addEventListener('message', async ({ source: sender, data }) => {
  if (sender !== parent || typeof data?.source !== 'string') return
  const style = document.documentElement.style
  style.background = data.background
  try {
    mermaid.initialize({
      startOnLoad: false,
      securityLevel: 'strict',
      suppressErrorRendering: true,
      maxEdges: 500,
      htmlLabels: false,
      flowchart: { htmlLabels: false },
      fontFamily: 'system-ui, sans-serif',
      theme: data.isDark ? 'dark' : 'default',
    })
    const { svg } = await mermaid.render('diagram', data.source)
    document.body.innerHTML = svg
    const { width, height } = document.body.firstElementChild.viewBox.baseVal
    parent.postMessage({ svg, width, height }, '*')
  } catch (error) {
    parent.postMessage({ error: String(error.message) }, '*')
  }
}, { once: true })`

const pageStyle = `html, body { height: 100%; margin: 0; overflow: hidden }
body { display: grid; box-sizing: border-box; padding: 8px }
svg { width: 100%; height: 100%; min-height: 0; max-width: none !important }`

/** Reads the library, which is one file of 2.9 MB, and writes it into the page. */
async function readDiagramPage() {
  const library = await readFile(fileURLToPath(import.meta.resolve('@mermaid-js/tiny')), 'utf8')
  const script = `${library}\n${drawScript}`.replaceAll('</script', '<\\/script')
  const page = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>Diagram</title><style>${pageStyle}</style></head><body>
<script>${script}</script></body></html>
`
  return { asset: new Asset('text/html; charset=utf-8', page), policy: writeFramePolicy(script) }
}

/** Serves the page that draws diagrams of models in a sandboxed frame. Most services never read it. */
export function serveDiagramPage(app: FastifyInstance): void {
  const read = lazyPromise(readDiagramPage)
  app.get('/chat-diagram', async (request, reply) => {
    const { asset, policy } = await read()
    return asset.send(request, reply.header('content-security-policy', policy))
  })
}
