import { type ReactNode, useEffect, useState } from 'react'
import { keepContinued, keepLinkKey, takeLinkKey } from '../shared/link-visit.ts'
import { openCopy, type SharedCopy, WrongLinkKey } from '../shared/shared-copy.ts'
import { siteLogo, siteName } from '../shared/site.ts'
import { formatTimestamp } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { Button, getButtonClass } from '../shared/ui/button.tsx'
import { Notice } from '../shared/ui/notice.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import styles from './share-page.module.css'
import { SharedMessages } from './shared-messages.tsx'

/** What the service says of a link. It does not know the key. */
export interface LinkData {
  id: string
  /** False if there is no such link, or not for this reader. */
  isReadable: boolean
  /** True if this reader has looked for too many links that are not there. */
  isLimited: boolean
  isSignedIn: boolean
}

type State =
  | { kind: 'opening' }
  | { kind: 'open'; copy: SharedCopy }
  | { kind: 'gone' }
  | { kind: 'incomplete' }
  | { kind: 'failed'; text: string }
  | { kind: 'limited' }

/** The page behind a link to a copy of a conversation. The key is in the fragment, so the copy is opened here alone. */
export function SharePage({ id, isReadable, isLimited, isSignedIn }: LinkData) {
  const [state, setState] = useState(() => chooseFirstState(isReadable, isLimited))
  const [key] = useState(() => readKey(id))
  const [attempts, setAttempts] = useState(0)
  useEffect(() => {
    if (!isReadable && attempts === 0) return
    const reading = new AbortController()
    readCopy(id, key, reading.signal).then((read) => !reading.signal.aborted && setState(read))
    return () => reading.abort()
  }, [id, key, isReadable, attempts])
  const retry = () => {
    setState({ kind: 'opening' })
    setAttempts(attempts + 1)
  }
  return (
    <div className={styles.page}>
      <header className={styles.site}>
        <a href="/">
          {siteLogo !== undefined && <img alt="" height="24" src={siteLogo} />} {siteName}
        </a>
      </header>
      <main className={styles.content}>
        {state.kind === 'opening' && <p role="status">{t('page.shared.opening')}</p>}
        {state.kind === 'open' && <OpenedCopy copy={state.copy} id={id} linkKey={key} />}
        {state.kind === 'gone' && <Missing id={id} linkKey={key} isSignedIn={isSignedIn} />}
        {state.kind === 'incomplete' && (
          <Ending title={t('page.shared.incomplete')} text={t('page.shared.incompleteText')} />
        )}
        {state.kind === 'failed' && (
          <Ending title={t('page.shared.failed')} text={state.text}>
            <RetryButton retry={retry} />
          </Ending>
        )}
        {state.kind === 'limited' && (
          <Ending
            title={t('page.shared.failed')}
            text={t(isSignedIn ? 'page.shared.tooMany' : 'page.shared.tooManyGuests')}
          >
            <Toolbar>
              <RetryButton retry={retry} />
              {!isSignedIn && <SignInLink id={id} linkKey={key} />}
            </Toolbar>
          </Ending>
        )}
      </main>
    </div>
  )
}

function chooseFirstState(isReadable: boolean, isLimited: boolean): State {
  if (isReadable) return { kind: 'opening' }
  return { kind: isLimited ? 'limited' : 'gone' }
}

/** Returns the key in the address, or the one that was there before the sign-in, which is put back. */
function readKey(id: string): string {
  const key = location.hash.slice(1)
  if (key !== '') return key
  const kept = takeLinkKey(id)
  if (kept !== null) history.replaceState(history.state, '', `${location.pathname}#${kept}`)
  return kept ?? ''
}

async function readCopy(id: string, key: string, signal: AbortSignal): Promise<State> {
  try {
    const response = await fetch(`/s/${id}/copy`, { signal })
    if (response.status === 404) return { kind: 'gone' }
    if (response.status === 429) return { kind: 'limited' }
    if (!response.ok) return { kind: 'failed', text: t('page.error') }
    return { kind: 'open', copy: await openCopy(await response.blob(), key) }
  } catch (error) {
    if (error instanceof WrongLinkKey) return { kind: 'incomplete' }
    return { kind: 'failed', text: t('page.error.offline') }
  }
}

interface EndingProps {
  title: string
  text: string
  children?: ReactNode
}

const Ending = ({ title, text, children }: EndingProps) => (
  <>
    <h1>{title}</h1>
    <Notice role="status">
      <p>{text}</p>
    </Notice>
    {children && <div>{children}</div>}
  </>
)

interface LinkProps {
  id: string
  linkKey: string
}

/** Says that there is nothing to read; for guests it may be there after a sign-in. */
function Missing({ id, linkKey, isSignedIn }: LinkProps & { isSignedIn: boolean }) {
  const title = t('page.shared.gone')
  if (isSignedIn) return <Ending title={title} text={t('page.shared.goneText')} />
  return (
    <Ending title={title} text={t('page.shared.goneForGuests')}>
      <SignInLink id={id} linkKey={linkKey} />
    </Ending>
  )
}

/** Leads back to the link after the sign-in. */
const SignInLink = ({ id, linkKey }: LinkProps) => (
  <a
    className={getButtonClass('primary')}
    href={`/login?redirectUri=${encodeURIComponent(`/s/${id}`)}`}
    onClick={() => keepLinkKey({ id, key: linkKey })}
  >
    {t('page.login.submit')}
  </a>
)

const RetryButton = ({ retry }: { retry: () => void }) => <Button onClick={retry}>{t('app.tryAgain')}</Button>

function OpenedCopy({ copy, id, linkKey }: LinkProps & { copy: SharedCopy }) {
  const title = copy.title || t('page.shared.title')
  useEffect(() => {
    document.title = `${title} · ${siteName}`
  }, [title])
  const sharedAt = new Date(copy.sharedAt)
  return (
    <>
      <h1 dir="auto">{title}</h1>
      <p className="hint">
        {Number.isNaN(sharedAt.getTime())
          ? t('page.shared.readOnly')
          : t('page.shared.at', { time: formatTimestamp(sharedAt) })}
      </p>
      <SharedMessages copy={copy} />
      <footer className={styles.end}>
        <p className="hint">{t('page.shared.continueHint')}</p>
        <a
          className={getButtonClass('primary')}
          href="/chat/shared"
          onClick={() => keepContinued({ id, key: linkKey })}
        >
          {t('page.shared.continue')}
        </a>
      </footer>
    </>
  )
}
