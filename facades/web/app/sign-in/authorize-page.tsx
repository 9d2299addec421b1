import { useEffect, useState } from 'react'
import { type AuthorizationView, api } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import { DAY_MS } from '../shared/days.ts'
import { formatNames } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { Outcome, useAction } from '../shared/ui/action-form.tsx'
import { Button, getButtonClass } from '../shared/ui/button.tsx'
import { Choice } from '../shared/ui/choice.tsx'
import { Notice } from '../shared/ui/notice.tsx'
import styles from './authorize-page.module.css'
import { pageData } from './page-data.ts'
import { go } from './return-path.ts'
import { signOut } from './sign-out.ts'

/** Shows what a program requests; the person allows or declines it. */
export const AuthorizePage = () => pageData.authorization && <Consent view={pageData.authorization} />

function Consent({ view }: { view: AuthorizationView }) {
  const choice = useServerChoice(view)
  const isAttentive = useAttention()
  const { isBusy, outcome, isWrong, run, clear } = useAction()
  const [programAddress, setProgramAddress] = useState<string>()
  const finish = async ({ redirectTo }: { redirectTo: string }) => {
    if (view.target.type !== 'program') return go(redirectTo)
    // The operating system opens it, and this page stays.
    setProgramAddress(redirectTo)
    location.assign(redirectTo)
    return undefined
  }
  const answer = (send: () => Promise<{ redirectTo: string }>) => isAttentive && run(async () => finish(await send()))
  const { request, abilities, grantLifetime } = view
  if (programAddress !== undefined) return <Answered address={programAddress} />
  return (
    <>
      <Identity {...view} />
      {view.hasNewAddresses && <Notice kind="warning">{t('page.authorize.newAddresses')}</Notice>}
      <SignedInPerson person={view.person} />
      <section aria-labelledby="may">
        <h2 id="may">{t('page.authorize.may')}</h2>
        <ul>
          {abilities.map((ability) => (
            <li key={ability}>{t(`page.authorize.ability.${ability}`)}</li>
          ))}
        </ul>
      </section>
      {abilities.includes('mcp') && <ServerChoices view={view} choice={choice} onChange={clear} />}
      <p className="hint">{t('page.authorize.seen')}</p>
      <p className="hint">{t('page.authorize.ends', { count: Math.round(grantLifetime / DAY_MS) })}</p>
      <div className={styles.answers} aria-busy={isBusy}>
        <Button
          id="decline"
          aria-disabled={isBusy || !isAttentive}
          onClick={() => answer(() => api.oauth.decline.mutate({ request }))}
        >
          {t('page.authorize.decline')}
        </Button>
        <Button
          id="allow"
          kind="primary"
          aria-disabled={isBusy || !isAttentive}
          onClick={() => answer(async () => api.oauth.agree.mutate({ request, servers: choice.read() }))}
        >
          {t('page.authorize.allow')}
        </Button>
      </div>
      <Outcome outcome={outcome} isWrong={isWrong} />
    </>
  )
}

/** Tells who asks: largest is what is certain, which is never the name that a program gives itself. */
function Identity({ client: { kind, name, host }, target }: AuthorizationView) {
  const destination = describeTarget(target)
  if (kind === 'dynamic')
    return (
      <>
        <p>
          {t('page.authorize.target')} <strong className={styles.identity}>{destination}</strong>
        </p>
        <Notice kind="warning">{t('page.authorize.unverified', { name })}</Notice>
      </>
    )
  return (
    <>
      <p>
        {t('page.authorize.asks')} <strong className={styles.identity}>{host ?? name}</strong>
      </p>
      <p>{t(`page.authorize.${kind}`, { name })}</p>
      <p>
        {t('page.authorize.target')} <strong>{destination}</strong>
      </p>
    </>
  )
}

/** Describes where the access goes. Hosts have their ASCII form, so that no letter resembles another. */
function describeTarget(target: AuthorizationView['target']): string {
  if (target.type === 'site') return target.host
  return target.type === 'program'
    ? t('page.authorize.scheme', { scheme: target.scheme })
    : t('page.authorize.thisComputer')
}

function SignedInPerson({ person: { username, name } }: Pick<AuthorizationView, 'person'>) {
  const { outcome, isWrong, run } = useAction()
  const leave = async () => {
    const address = await signOut()
    // Where a provider ends its own session, it does not lead back here.
    return go(address === '/login' ? `/login?redirectUri=${encodeURIComponent(getOwnPath())}` : address)
  }
  return (
    <div>
      <p>
        {t('page.authorize.person', { name, username })}{' '}
        <Button kind="plain" onClick={() => run(leave)}>
          {t('page.authorize.notYou')}
        </Button>
      </p>
      <Outcome outcome={outcome} isWrong={isWrong} />
    </div>
  )
}

const getOwnPath = () => location.pathname + location.search

/** The tool servers that a person ticks, and whether those that are added later are among them. */
function useServerChoice({ abilities, servers, hasFixedServers, lastServers }: AuthorizationView) {
  const [chosen, setChosen] = useState(
    () => new Set(servers.map(({ id }) => id).filter((id) => lastServers?.includes(id) ?? true)),
  )
  const [isForLater, setForLater] = useState(lastServers === null || servers.length === 0)
  const isAll = chosen.size === servers.length
  return {
    chosen,
    isAll,
    isForLater: isForLater && isAll,
    setForLater,
    toggle(id: number, isOn: boolean) {
      const rest = [...chosen].filter((each) => each !== id)
      setChosen(new Set(isOn ? [...rest, id] : rest))
    },
    /** Returns the servers as the service wants them: null for all, also later ones. */
    read(): number[] | null {
      if (!abilities.includes('mcp') || hasFixedServers || (isForLater && isAll)) return null
      if (chosen.size === 0 && abilities.length === 1) throw new InputError(t('page.authorize.nothing'))
      return [...chosen]
    },
  }
}

type ListedServer = AuthorizationView['servers'][number]

/** Names a server, what it offers, and how the person's own account there stands if it is called with that. */
const describeServer = ({ account, ...server }: ListedServer): string =>
  [
    server.label,
    formatNames(describeOffers(server)),
    ...(account ? [t(`page.authorize.account.${account}`)] : []),
  ].join(' · ')

const describeOffers = (server: Pick<ListedServer, 'tools' | 'prompts' | 'resources'>): string[] =>
  (['tools', 'prompts', 'resources'] as const)
    .filter((kind) => server[kind] > 0)
    .map((kind) => t(`page.authorize.${kind}`, { count: server[kind] }))

interface ServerChoicesProps {
  view: AuthorizationView
  choice: ReturnType<typeof useServerChoice>
  onChange: () => void
}

function ServerChoices({ view: { servers, hasFixedServers }, choice, onChange }: ServerChoicesProps) {
  if (hasFixedServers)
    return (
      <section aria-labelledby="servers">
        <h2 id="servers">{t('page.authorize.fixedServers')}</h2>
        {servers.length === 0 && <p>{t('page.authorize.noServers')}</p>}
        <ul>
          {servers.map((server) => (
            <li key={server.id}>{describeServer(server)}</li>
          ))}
        </ul>
      </section>
    )
  return (
    <fieldset onChange={onChange}>
      <legend>{t('page.authorize.servers')}</legend>
      {servers.length === 0 && <p>{t('page.authorize.noServers')}</p>}
      {servers.map((server) => (
        <Choice
          key={server.id}
          name="server"
          label={describeServer(server)}
          checked={choice.chosen.has(server.id)}
          onChange={({ currentTarget }) => choice.toggle(server.id, currentTarget.checked)}
        />
      ))}
      <Choice
        name="later"
        label={t('page.authorize.later')}
        checked={choice.isForLater}
        disabled={!choice.isAll}
        onChange={({ currentTarget }) => choice.setForLater(currentTarget.checked)}
      />
    </fieldset>
  )
}

/** Stays behind a program that the operating system has opened. */
const Answered = ({ address }: { address: string }) => (
  <>
    <p role="status">{t('page.authorize.answered')}</p>
    <a className={getButtonClass()} href={address}>
      {t('page.authorize.openProgram')}
    </a>
  </>
)

/** A click within this time after the page has come to sight may have been meant for what was there before. */
const PAUSE_MS = 1000

/** Returns false until the page was in sight for a moment. */
function useAttention(): boolean {
  const [isAttentive, setAttentive] = useState(false)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const startPause = () => {
      clearTimeout(timer)
      setAttentive(false)
      if (!document.hidden) timer = setTimeout(() => setAttentive(true), PAUSE_MS)
    }
    startPause()
    document.addEventListener('visibilitychange', startPause)
    return () => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', startPause)
    }
  }, [])
  return isAttentive
}
