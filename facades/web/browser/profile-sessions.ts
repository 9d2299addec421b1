import { element, onSubmit } from './form.ts'
import { item, itemButton } from './items.ts'
import { minuteOf } from './moments.ts'
import { ask } from './server.ts'

type Say = (key: string) => string
type Failed = (error: unknown) => string

interface Session {
  handle: string
  beganAt: string
  lastUsedAt: string
  browser: string | null
  system: string | null
  isCurrent: boolean
}

/** Where the person is signed in, a button to end each but this one, and one for all of these. */
export async function showSessions(say: Say, failed: Failed): Promise<void> {
  await list(say, failed)
  onSubmit(
    'others',
    async () => {
      await ask('POST', '/req/profile/end-other-sessions')
      await list(say, failed)
      return undefined
    },
    failed,
  )
}

async function list(say: Say, failed: Failed): Promise<void> {
  const { sessions } = await ask<{ sessions: Session[] }>('GET', '/req/profile/sessions')
  element('sessions').replaceChildren(...sessions.map((session) => row(say, failed, session)))
  element('others').hidden = sessions.length < 2
}

function row(say: Say, failed: Failed, session: Session): HTMLLIElement {
  const { handle, beganAt, lastUsedAt, isCurrent } = session
  const name = nameOf(say, session)
  const times = say('page.profile.sessionTimes')
    .replace(':began', minuteOf(beganAt))
    .replace(':used', minuteOf(lastUsedAt))
  if (isCurrent) return item(`${name} (${say('page.profile.sessionHere')})\n${times}`)
  const end = async () => {
    const problem = await ask('POST', '/req/profile/end-session', { handle }).then(() => '', failed)
    await list(say, failed)
    element('others').querySelector('.outcome')?.replaceChildren(problem)
  }
  return item(`${name}\n${times}`, itemButton(say('page.profile.sessionEnd'), name, end))
}

function nameOf(say: Say, { browser, system }: Session): string {
  const known = browser ?? say('page.profile.sessionUnknown')
  return system ? say('page.profile.sessionOn').replace(':browser', known).replace(':system', system) : known
}
