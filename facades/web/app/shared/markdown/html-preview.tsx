import { useRef } from 'react'
import { t } from '../text/labels.ts'

/** A page of a model in a frame of another origin, whose policy lets nothing run and nothing load. */
export function HtmlPreview({ source }: { source: string }) {
  const frame = useRef<HTMLIFrameElement>(null)
  return (
    <iframe
      ref={frame}
      className="preview"
      title={t('app.code.previewTitle')}
      src="/chat-preview"
      sandbox="allow-scripts"
      referrerPolicy="no-referrer"
      // Its origin has no name.
      onLoad={() => frame.current?.contentWindow?.postMessage(source, '*')}
    />
  )
}
