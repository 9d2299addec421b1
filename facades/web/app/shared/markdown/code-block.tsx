import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react'
import { t } from '../text/labels.ts'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import type { CodeNode } from './highlight.ts'
import { hasPreview, isDiagram } from './preview-languages.ts'

/** Milliseconds without a change of the code before it is highlighted. */
const HIGHLIGHT_DELAY_MS = 120

const Preview = lazy(async () => ({ default: (await import('./preview.tsx')).Preview }))

/** A code block with its language, syntax highlighting and a button that copies it. */
export function CodeBlock({ code, language }: { code: string; language: string }) {
  const nodes = useHighlighting(code, language)
  const [isShown, setShown] = useState(false)
  return (
    <figure className="code-block">
      <figcaption>
        <span>{language}</span>
        {hasPreview(language) && (
          <Button kind="plain" aria-pressed={isShown} onClick={() => setShown(!isShown)}>
            {t(isDiagram(language) ? 'app.code.diagram' : 'app.code.preview')}
          </Button>
        )}
        <CopyButton text={code} label={t('app.code.copy')} />
      </figcaption>
      {isShown && (
        <Suspense>
          <Preview key={code} source={code} language={language} />
        </Suspense>
      )}
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
      // Code is legible without colors while the service cannot be reached.
      const highlighter = await import('./highlight.ts').catch(() => undefined)
      if (highlighter && !isGone) setHighlighted({ code, nodes: highlighter.highlight(code, language) })
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
