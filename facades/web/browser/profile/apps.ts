import { confirmed } from '../dialog.ts'
import type { Translate } from '../errors.ts'
import { element, fill } from '../form.ts'
import { item, itemButton } from '../items.ts'
import { dayOf, minuteOf } from '../moments.ts'
import { api, ask } from '../server.ts'

interface Link {
  appId: number
  appName: string
  withKeys: boolean
  abilities: string[]
  createdAt: string
  lastUsedAt: string | null
  expiresAt: string | null
}

/** Lists the apps that are linked to the person, with a button to end each link. */
export const showApps = (translate: Translate) => fill(translate, 'apps', () => list(translate))

async function list(translate: Translate): Promise<void> {
  const { result } = await ask<{ result: { data: Link[] } }>('GET', '/trpc/consentPage.links')
  const lines = result.data.map((link) => line(translate, link))
  element('apps').replaceChildren(...(lines.length > 0 ? lines : [item(translate('page.profile.appsNone'))]))
}

function line(translate: Translate, link: Link): HTMLLIElement {
  const { appId, appName: name, withKeys } = link
  const named = (key: string) => translate(key).replace(':name', () => name)
  const sure = () =>
    confirmed({
      title: named('page.profile.appEndSure'),
      text: translate('page.profile.appEndText'),
      yes: translate('page.profile.appEnd'),
      no: translate('page.cancel'),
    })
  const press = async () => {
    await ask('DELETE', `${api}/ext-apps/${appId}/actions/link`)
    await list(translate)
    return named('page.profile.appEnded')
  }
  const button = itemButton(translate, { list: 'apps', label: translate('page.profile.appEnd'), of: name, press, sure })
  const keys = translate(withKeys ? 'page.profile.appKeys' : 'page.profile.appNoKeys')
  return item(name, [`${mayOf(translate, link)} · ${keys}`, timesOf(translate, link)], button)
}

const mayOf = (translate: Translate, { abilities }: Link) =>
  translate('page.profile.tokenMay').replace(
    ':abilities',
    abilities.map((ability) => translate(`page.profile.ability.${ability}`)).join(', '),
  )

function timesOf(translate: Translate, { createdAt, lastUsedAt, expiresAt }: Link): string {
  const times = [
    translate('page.profile.appSince').replace(':day', dayOf(createdAt)),
    lastUsedAt
      ? translate('page.profile.tokenUsed').replace(':time', minuteOf(lastUsedAt))
      : translate('page.profile.tokenUnused'),
    ...(expiresAt ? [translate('page.profile.tokenEnds').replace(':day', dayOf(expiresAt))] : []),
  ]
  return times.join(' · ')
}
