import type { Say } from './errors.ts'
import { element, fill, onSubmit } from './form.ts'
import { item, itemButton } from './items.ts'
import { minuteOf } from './moments.ts'
import { ask } from './server.ts'

interface Session {
  handle: string
  beganAt: string
  lastUsedAt: string
  browser: string | null
  system: string | null
  isCurrent: boolean
}

/** Where the person is signed in, a button to end each but this one, and one for all of these. */
export async function showSessions(say: Say): Promise<void> {
  onSubmit(say, 'others', async () => {
    await ask('POST', '/req/profile/end-other-sessions')
    await listSessions(say)
    element('sessions-title').focus()
    return undefined
  })
  await fill(say, 'sessions', () => listSessions(say))
}

export async function listSessions(say: Say): Promise<void> {
  const { sessions } = await ask<{ sessions: Session[] }>('GET', '/req/profile/sessions')
  element('sessions').replaceChildren(...sessions.map((session) => line(say, session)))
  element('others').hidden = sessions.length < 2
}

function line(say: Say, session: Session): HTMLLIElement {
  const { handle, beganAt, lastUsedAt, isCurrent } = session
  const name = nameOf(say, session)
  const times = say('page.profile.sessionTimes')
    .replace(':began', minuteOf(beganAt))
    .replace(':used', minuteOf(lastUsedAt))
  if (isCurrent) return item(`${name} (${say('page.profile.sessionHere')})`, [times])
  const press = async () => {
    await ask('POST', '/req/profile/end-session', { handle })
    await listSessions(say)
    return say('page.profile.sessionEnded')
  }
  return item(
    name,
    [times],
    itemButton(say, { list: 'sessions', label: say('page.profile.sessionEnd'), of: name, press }),
  )
}

function nameOf(say: Say, { browser, system }: Session): string {
  const known = browser ?? say('page.profile.sessionUnknown')
  return system ? say('page.profile.sessionOn').replace(':browser', known).replace(':system', system) : known
}
