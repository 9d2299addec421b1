import { type ReactNode, useEffect, useRef, useState } from 'react'
import { t } from '../text/labels.ts'
import { CopyButton } from '../ui/copy-button.tsx'
import type { CodeNode } from './highlight.ts'

/** Milliseconds without a change of the code before it is highlighted. */
const HIGHLIGHT_DELAY_MS = 120

/** Languages that can be shown as a web page on demand. */
const previewLanguages = new Set(['html', 'svg', 'xml'])

/** A code block with its language, syntax highlighting and a button that copies it. */
export function CodeBlock({ code, language }: { code: string; language: string }) {
  const nodes = useHighlighting(code, language)
  const [isShown, setShown] = useState(false)
  return (
    <figure className="code-block">
      <figcaption>
        <span>{language}</span>
        {previewLanguages.has(language) && (
          <button type="button" className="plain-button" aria-pressed={isShown} onClick={() => setShown(!isShown)}>
            {t('app.code.preview')}
          </button>
        )}
        <CopyButton text={code} label={t('app.code.copy')} />
      </figcaption>
      {isShown && <HtmlPreview source={code} />}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be reachable by keyboard. */}
      <pre tabIndex={0} dir="ltr">
        <code>{nodes ? nodes.map(renderNode) : code}</code>
      </pre>
    </figure>
  )
}

function useHighlighting(code: string, language: string): CodeNode[] | undefined {
  const [highlighted, setHighlighted] = useState<{ code: string; nodes: CodeNode[] | undefined }>()
  useEffect(() => {
    if (language === '') return
    let isGone = false
    const timer = setTimeout(async () => {
      const { highlight } = await import('./highlight.ts')
      if (!isGone) setHighlighted({ code, nodes: highlight(code, language) })
    }, HIGHLIGHT_DELAY_MS)
    return () => {
      isGone = true
      clearTimeout(timer)
    }
  }, [code, language])
  return highlighted?.code === code ? highlighted.nodes : undefined
}

function renderNode(node: CodeNode, index: number): ReactNode {
  if (typeof node === 'string') return node
  const name = node.scope?.split('.')[0]
  return (
    <span key={index} className={name && `code-${name}`}>
      {node.children.map(renderNode)}
    </span>
  )
}

/** Shows HTML of a model in a frame of another origin, whose CSP forbids scripts and requests. */
function HtmlPreview({ source }: { source: string }) {
  const frame = useRef<HTMLIFrameElement>(null)
  return (
    <iframe
      ref={frame}
      className="preview"
      title={t('app.code.previewTitle')}
      src="/chat-preview"
      sandbox="allow-scripts"
      referrerPolicy="no-referrer"
      // The sandboxed frame has an opaque origin, which cannot be named.
      onLoad={() => frame.current?.contentWindow?.postMessage(source, '*')}
    />
  )
}
