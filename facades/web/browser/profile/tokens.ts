import { confirmed } from '../dialog.ts'
import type { Translate } from '../errors.ts'
import { element, entered, fill, onSubmit } from '../form.ts'
import { item, itemButton } from '../items.ts'
import { dayOf, minuteOf } from '../moments.ts'
import { hideSecret, showSecret } from '../secret.ts'
import { ask } from '../server.ts'

interface Token {
  id: number
  name: string
  abilities: string[]
  createdAt: string
  lastUsedAt: string | null
  expiresAt: string | null
}

const DAY_MS = 24 * 60 * 60 * 1000

/** Lists the person's tokens, with a form to make one and a button to revoke each, if the page has this section. */
export async function showTokens(translate: Translate): Promise<void> {
  if (!document.getElementById('tokens')) return
  onSubmit(translate, 'create', async () => {
    hideSecret('token')
    const days = Number(entered('token-days'))
    const { token } = await ask<{ token: string }>('POST', '/req/profile/create-token', {
      name: entered('token-name'),
      ...(days > 0 && { expiresAt: new Date(Date.now() + days * DAY_MS).toISOString() }),
    })
    showSecret(translate, 'token', token)
    element<HTMLInputElement>('token-name').value = ''
    await list(translate)
    return translate('page.profile.tokenOnce')
  })
  await fill(translate, 'tokens', () => list(translate))
}

async function list(translate: Translate): Promise<void> {
  const { tokens } = await ask<{ tokens: Token[] }>('GET', '/req/profile/fetch-tokens')
  const lines = tokens.map((token) => line(translate, token))
  element('tokens').replaceChildren(...(lines.length > 0 ? lines : [item(translate('page.profile.tokenNone'))]))
}

function line(translate: Translate, token: Token): HTMLLIElement {
  const { id, name } = token
  const sure = () =>
    confirmed({
      title: translate('page.profile.tokenRevokeSure').replace(':name', name),
      text: translate('page.profile.tokenRevokeText'),
      yes: translate('page.profile.tokenRevoke'),
      no: translate('page.cancel'),
    })
  const press = async () => {
    await ask('POST', '/req/profile/revoke-token', { tokenId: id })
    await list(translate)
    return translate('page.profile.tokenRevoked').replace(':name', name)
  }
  const button = itemButton(translate, {
    list: 'tokens',
    label: translate('page.profile.tokenRevoke'),
    of: name,
    press,
    sure,
  })
  return item(name, [abilitiesOf(translate, token), timesOf(translate, token)], button)
}

const abilitiesOf = (translate: Translate, { abilities }: Token) =>
  translate('page.profile.tokenMay').replace(
    ':abilities',
    abilities.map((ability) => translate(`page.profile.ability.${ability}`)).join(', '),
  )

function timesOf(translate: Translate, { createdAt, lastUsedAt, expiresAt }: Token): string {
  const times = [
    translate('page.profile.tokenMade').replace(':day', dayOf(createdAt)),
    lastUsedAt
      ? translate('page.profile.tokenUsed').replace(':time', minuteOf(lastUsedAt))
      : translate('page.profile.tokenUnused'),
    expiresAt
      ? translate('page.profile.tokenEnds').replace(':day', dayOf(expiresAt))
      : translate('page.profile.tokenEndless'),
  ]
  return times.join(' · ')
}
