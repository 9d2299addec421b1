import { createContext, lazy, type MouseEvent, type ReactNode, Suspense, useContext, useState } from 'react'
import { targetOf } from './links.ts'

const LeaveDialog = lazy(async () => ({ default: (await import('./leave-dialog.tsx')).LeaveDialog }))

interface LinkProps {
  href: string
  words: string
  children: ReactNode
}

/** A link cannot hold another, such as that of a picture. */
const IsInLink = createContext(false)

/** A link that says where it leads; one that could deceive asks first. */
export function Link({ href, words, children }: LinkProps) {
  const target = targetOf(href, words)
  const isInLink = useContext(IsInLink)
  const [isAsking, setAsking] = useState(false)
  if (isInLink) return children
  if (!target) return <span title={href}>{children}</span>
  const ask = (event: MouseEvent) => {
    event.preventDefault()
    setAsking(true)
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
      {isAsking && (
        <Suspense>
          <LeaveDialog target={target.href} close={() => setAsking(false)} />
        </Suspense>
      )}
    </>
  )
}
