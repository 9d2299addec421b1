import { useQuery } from '@tanstack/react-query'
import { forgetKeys } from '../../browser/keystore.ts'
import { api, queryClient } from '../shared/api/client.ts'
import { dropClosingGuards } from '../shared/closing-guard.ts'
import { announcePerson } from '../shared/person-change.ts'
import { formatDateTime } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { Outcome, useAction } from '../shared/ui/action-form.tsx'
import { Button } from '../shared/ui/button.tsx'
import { ConfirmButton } from '../shared/ui/confirm-button.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import { ItemList } from './item-list.tsx'

const key = ['sessions']

const listSessions = (signal: AbortSignal) => api.sessions.list.query(undefined, { signal })
type OwnSession = Awaited<ReturnType<typeof listSessions>>[number]

/** The sessions of the person. */
export function SessionSettings() {
  const { data, error } = useQuery({ queryKey: key, queryFn: ({ signal }) => listSessions(signal) })
  return (
    <ItemList
      title={t('app.settings.sessionsTitle')}
      intro={t('app.settings.sessionsIntro')}
      items={data?.map((session) => ({
        key: session.handle,
        name: session.isCurrent
          ? `${describeSession(session)} (${t('app.settings.sessionHere')})`
          : describeSession(session),
        details: [
          t('app.settings.sessionTimes', {
            began: formatDateTime(session.beganAt),
            used: formatDateTime(session.lastUsedAt),
          }),
        ],
        ...(!session.isCurrent && { remove: () => endSession(session) }),
      }))}
      error={error}
      none=""
      removeText={t('app.settings.sessionEnd')}
    >
      <EndOtherSessions hasOthers={(data?.length ?? 0) > 1} />
    </ItemList>
  )
}

function describeSession({ browser, system }: OwnSession): string {
  const known = browser ?? t('app.settings.sessionUnknown')
  return system ? t('app.settings.sessionOn', { browser: known, system }) : known
}

async function endSession({ handle }: OwnSession): Promise<string> {
  await api.sessions.end.mutate({ handle })
  await queryClient.invalidateQueries({ queryKey: key })
  return t('app.settings.sessionEnded')
}

function EndOtherSessions({ hasOthers }: { hasOthers: boolean }) {
  const { run, outcome, isWrong } = useAction()
  const endOthers = async () => {
    await api.sessions.endOthers.mutate()
    await queryClient.invalidateQueries({ queryKey: key })
    return t('app.settings.sessionEnded')
  }
  return (
    <>
      <Toolbar>
        {hasOthers && <Button onClick={() => run(endOthers)}>{t('app.settings.sessionOthers')}</Button>}
        <ConfirmButton
          kind="danger"
          confirmation={{
            title: t('app.settings.everywhereSure'),
            text: t('app.settings.everywhereText'),
            action: t('app.settings.everywhere'),
          }}
          act={() => run(signOutEverywhere)}
        >
          {t('app.settings.everywhere')}
        </ConfirmButton>
      </Toolbar>
      <Outcome outcome={outcome} isWrong={isWrong} />
    </>
  )
}

async function signOutEverywhere(): Promise<undefined> {
  // Keys must not stay unlocked for the next user of this browser.
  await forgetKeys().catch(() => undefined)
  const { redirectUri } = await api.sessions.logoutEverywhere.mutate()
  announcePerson(null)
  dropClosingGuards()
  location.assign(redirectUri)
}
