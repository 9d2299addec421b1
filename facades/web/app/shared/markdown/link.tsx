import { createContext, lazy, type MouseEvent, type ReactNode, Suspense, useContext, useState } from 'react'

const LeaveDialog = lazy(async () => ({ default: (await import('./leave-dialog.tsx')).LeaveDialog }))

interface LinkProps {
  href: string
  words: string
  children: ReactNode
}

/** True within a link, as links cannot be nested; a picture, for example, is shown as a link. */
const IsInLink = createContext(false)

/** A link with its host. A suspicious one asks before it opens. */
export function Link({ href, words, children }: LinkProps) {
  const target = parseLinkTarget(href, words)
  const isInLink = useContext(IsInLink)
  const [isDialogOpen, setDialogOpen] = useState(false)
  if (isInLink) return children
  if (!target) return <span title={href}>{children}</span>
  const ask = (event: MouseEvent) => {
    event.preventDefault()
    setDialogOpen(true)
  }
  return (
    <>
      <a
        href={target.href}
        target="_blank"
        rel="noreferrer noopener nofollow"
        title={target.href}
        {...(target.isSuspicious && { onClick: ask })}
      >
        <IsInLink value>{children}</IsInLink>
      </a>
      {target.isSuspicious && <span className="host"> ({target.host})</span>}
      {isDialogOpen && (
        <Suspense>
          <LeaveDialog target={target.href} close={() => setDialogOpen(false)} />
        </Suspense>
      )}
    </>
  )
}

/** A link that may be opened. */
export interface LinkTarget {
  href: string
  /** The host, or the e-mail address of a `mailto:` link. */
  host: string
  /**
   * True if the person must confirm first: the words name another host, or the URL is long enough to carry data away.
   */
  isSuspicious: boolean
}

/** Longer queries could send parts of the conversation to the host. */
const MAX_QUERY = 80

function parseLinkTarget(href: string, words: string): LinkTarget | undefined {
  if (!URL.canParse(href)) return undefined
  const url = new URL(href)
  if (url.protocol === 'mailto:') return { href: `mailto:${url.pathname}`, host: url.pathname, isSuspicious: false }
  if (url.protocol !== 'https:' || url.username !== '' || url.password !== '') return undefined
  const isLong = url.search.length + url.hash.length > MAX_QUERY || url.pathname.length > 2 * MAX_QUERY
  return { href: url.href, host: url.host, isSuspicious: isLong || hasOtherHost(words, url.host) }
}

/** Returns true if the words look like the address of another host. */
function hasOtherHost(words: string, host: string): boolean {
  const named = /(?:^|[\s/@])((?:[\p{L}\p{N}-]+\.)+\p{L}{2,})/u.exec(words.trim())?.[1]?.toLowerCase()
  return named !== undefined && named !== host && `www.${named}` !== host && named !== `www.${host}`
}

/** Returns true for raster images in `data:` URLs, the only pictures that are shown. */
export const isDataImage = (href: string): boolean =>
  /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[\w+/=]+$/.test(href)

export const getHost = (href: string): string => (URL.canParse(href) ? new URL(href).host : '')
