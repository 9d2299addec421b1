import type { Translate } from '../errors.ts'
import { element, fill, onSubmit } from '../form.ts'
import { item, itemButton } from '../items.ts'
import { minuteOf } from '../moments.ts'
import { ask } from '../server.ts'

interface Session {
  handle: string
  beganAt: string
  lastUsedAt: string
  browser: string | null
  system: string | null
  isCurrent: boolean
}

/** Lists the person's sessions, with a button to end each other one and a button to end all others. */
export async function showSessions(translate: Translate): Promise<void> {
  onSubmit(translate, 'others', async () => {
    await ask('POST', '/req/profile/end-other-sessions')
    await listSessions(translate)
    element('sessions-title').focus()
    return undefined
  })
  await fill(translate, 'sessions', () => listSessions(translate))
}

export async function listSessions(translate: Translate): Promise<void> {
  const { sessions } = await ask<{ sessions: Session[] }>('GET', '/req/profile/sessions')
  element('sessions').replaceChildren(...sessions.map((session) => line(translate, session)))
  element('others').hidden = sessions.length < 2
}

function line(translate: Translate, session: Session): HTMLLIElement {
  const { handle, beganAt, lastUsedAt, isCurrent } = session
  const name = nameOf(translate, session)
  const times = translate('page.profile.sessionTimes')
    .replace(':began', minuteOf(beganAt))
    .replace(':used', minuteOf(lastUsedAt))
  if (isCurrent) return item(`${name} (${translate('page.profile.sessionHere')})`, [times])
  const press = async () => {
    await ask('POST', '/req/profile/end-session', { handle })
    await listSessions(translate)
    return translate('page.profile.sessionEnded')
  }
  return item(
    name,
    [times],
    itemButton(translate, { list: 'sessions', label: translate('page.profile.sessionEnd'), of: name, press }),
  )
}

function nameOf(translate: Translate, { browser, system }: Session): string {
  const known = browser ?? translate('page.profile.sessionUnknown')
  return system ? translate('page.profile.sessionOn').replace(':browser', known).replace(':system', system) : known
}
