import { type ReactNode, useEffect, useRef, useState } from 'react'
import { saveFile } from '../save-file.ts'
import { formatNumber } from '../text/formats.ts'
import { t } from '../text/labels.ts'
import { Button } from '../ui/button.tsx'
import { joinClasses } from '../ui/class-names.ts'
import { Toolbar } from '../ui/toolbar.tsx'
import { PictureDialog } from './picture-dialog.tsx'
import { isDiagram as isDiagramLanguage } from './preview-languages.ts'

interface PreviewProps {
  source: string
  language: string
}

/** The picture of a code block, which can be enlarged and saved. */
export const Preview = ({ source, language }: PreviewProps) =>
  isDiagramLanguage(language) ? <Diagram source={source} /> : <HtmlPreview source={source} language={language} />

interface FrameWithToolsProps {
  title: string
  frame: (isLarge: boolean) => ReactNode
  /** Absent until there is something to save. */
  save: (() => void) | undefined
}

/** A picture in a frame, with the buttons that enlarge and save it. */
function FrameWithTools({ title, frame, save }: FrameWithToolsProps) {
  const [isEnlarged, setEnlarged] = useState(false)
  return (
    <>
      {frame(false)}
      <Toolbar align="end" className="preview-tools">
        <Button kind="plain" onClick={() => setEnlarged(true)}>
          {t('app.picture.enlarge')}
        </Button>
        <Button kind="plain" onClick={save} disabled={!save}>
          {t('app.picture.save')}
        </Button>
      </Toolbar>
      {isEnlarged && (
        <PictureDialog title={title} save={save} close={() => setEnlarged(false)}>
          {frame(true)}
        </PictureDialog>
      )}
    </>
  )
}

/** The files that previews are saved as. */
const fileTypes: Readonly<Record<string, { extension: string; type: string }>> = {
  html: { extension: 'html', type: 'text/html' },
  svg: { extension: 'svg', type: 'image/svg+xml' },
  xml: { extension: 'xml', type: 'text/xml' },
}

/** Shows HTML of a model in a frame of another origin, whose CSP forbids scripts and requests. */
function HtmlPreview({ source, language }: PreviewProps) {
  const [isFailed, setFailed] = useState(false)
  if (isFailed) return <FailureNote text={t('app.code.previewFailed')} />
  const { extension, type } = fileTypes[language] ?? { extension: 'txt', type: 'text/plain' }
  const save = () => saveFile(new Blob([source], { type }), `preview.${extension}`)
  const title = t('app.code.previewTitle')
  const frame = (isLarge: boolean) => (
    <SandboxedFrame
      title={title}
      address="/chat-preview"
      message={source}
      isLarge={isLarge}
      receive={(data) => setFailed(data === undefined)}
    />
  )
  return <FrameWithTools title={title} frame={frame} save={save} />
}

const FailureNote = ({ text }: { text: string }) => (
  <p className="hint preview-note" role="status">
    {text}
  </p>
)

/** The drawing that the page for diagrams returns. */
interface Drawing {
  svg: string
  width: number
  height: number
}

/** The most characters of a diagram that is drawn, because the work grows faster than its length. */
const MAX_DIAGRAM = 20_000

/** Draws a diagram in a frame of another origin, whose CSP forbids requests. Its picture is only saved, never inserted. */
function Diagram({ source }: { source: string }) {
  if (source.length > MAX_DIAGRAM)
    return <FailureNote text={t('app.code.diagramTooLong', { count: formatNumber(MAX_DIAGRAM) })} />
  return <DrawnDiagram source={source} />
}

function DrawnDiagram({ source }: { source: string }) {
  const [result, setResult] = useState<Drawing | 'failed'>()
  const receive = (data: unknown) => setResult(isDrawing(data) ? data : 'failed')
  if (result === 'failed') return <FailureNote text={t('app.code.diagramFailed')} />
  const title = t('app.picture')
  const frame = (isLarge: boolean) => (
    <SandboxedFrame
      title={title}
      isDiagram
      address="/chat-diagram"
      message={{ source, ...readColours() }}
      isLarge={isLarge}
      size={result}
      receive={receive}
    />
  )
  const save = result && (() => saveFile(new Blob([result.svg], { type: 'image/svg+xml' }), 'diagram.svg'))
  return <FrameWithTools title={title} frame={frame} save={save} />
}

const isDrawing = (data: unknown): data is Drawing => {
  const { svg, width, height } = (data ?? {}) as Partial<Record<keyof Drawing, unknown>>
  return typeof svg === 'string' && typeof width === 'number' && typeof height === 'number'
}

/** The most pixels of a side of an enlarged picture, whose size comes from a frame that is not trusted. */
const MAX_SIDE = 8000

/** The margin of a picture in its frame, on both sides together. */
const MARGIN = 16

/** Shows a picture in its own size at least, even where the window is narrower and scrolls. */
const growTo = ({ width, height }: Pick<Drawing, 'width' | 'height'>) => ({
  minWidth: Math.min(Math.ceil(width) + MARGIN, MAX_SIDE),
  minHeight: Math.min(Math.ceil(height) + MARGIN, MAX_SIDE),
})

const fitInto = ({ width, height }: Pick<Drawing, 'width' | 'height'>) => ({
  height: 'auto',
  maxHeight: '32rem',
  aspectRatio: width / height,
})

/** The frame knows nothing of the page, so it is told whether that is dark. */
function readColours() {
  const scheme = getComputedStyle(document.documentElement).colorScheme
  const prefersDark = matchMedia('(prefers-color-scheme: dark)').matches
  const isDark = scheme.includes('dark') && (prefersDark || !scheme.includes('light'))
  return { isDark, background: getComputedStyle(document.body).backgroundColor }
}

/** Milliseconds that a frame has to load, and then to show its content. One that takes longer is removed, which ends its work. */
const [LOAD_MS, SHOW_MS] = [30_000, 10_000]

interface SandboxedFrameProps {
  title: string
  /** True for a diagram, which has the colours of the page. */
  isDiagram?: boolean
  address: string
  /** The message that the frame takes: source and options. */
  message: unknown
  isLarge: boolean
  /** The size of the picture in its own pixels. */
  size?: Pick<Drawing, 'width' | 'height'> | undefined
  /** Takes what the frame sends back, or undefined if it sends nothing in time. */
  receive: (data: unknown) => void
}

function SandboxedFrame({ title, isDiagram, address, message, isLarge, size, receive }: SandboxedFrameProps) {
  const frame = useRef<HTMLIFrameElement>(null)
  const latest = useRef(receive)
  latest.current = receive
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const expectWithin = (milliseconds: number) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => latest.current(undefined), milliseconds)
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: the wait begins once, with the frame.
  useEffect(() => {
    expectWithin(LOAD_MS)
    const listen = ({ source, data }: MessageEvent) => {
      if (source !== frame.current?.contentWindow) return
      clearTimeout(timer.current)
      latest.current(data)
    }
    addEventListener('message', listen)
    return () => {
      clearTimeout(timer.current)
      removeEventListener('message', listen)
    }
  }, [])
  return (
    <iframe
      ref={frame}
      className={joinClasses('preview', isLarge && 'large', isDiagram && 'diagram')}
      style={size && (isLarge ? growTo(size) : fitInto(size))}
      title={title}
      src={address}
      sandbox="allow-scripts"
      referrerPolicy="no-referrer"
      // The sandboxed frame has an opaque origin, which cannot be named.
      onLoad={() => {
        expectWithin(SHOW_MS)
        frame.current?.contentWindow?.postMessage(message, '*')
      }}
    />
  )
}
