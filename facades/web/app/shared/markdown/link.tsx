import { createContext, lazy, type MouseEvent, type ReactNode, Suspense, useContext, useState } from 'react'
import { parseSafeLink } from './safe-link.ts'

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
  const target = parseSafeLink(href, words, location.origin)
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
