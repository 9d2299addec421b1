import { confirmed } from './dialog.ts'
import type { Say } from './errors.ts'
import { element, entered, fill, onSubmit } from './form.ts'
import { item, itemButton } from './items.ts'
import { dayOf, minuteOf } from './moments.ts'
import { hideSecret, showSecret } from './secret.ts'
import { ask } from './server.ts'

interface Token {
  id: number
  name: string
  abilities: string[]
  createdAt: string
  lastUsedAt: string | null
  expiresAt: string | null
}

const DAY_MS = 24 * 60 * 60 * 1000

/** The person's tokens, a way to make one, and a button to end each; nothing where the page has no place for them. */
export async function showTokens(say: Say): Promise<void> {
  if (!document.getElementById('tokens')) return
  onSubmit(say, 'create', async () => {
    hideSecret('token')
    const days = Number(entered('token-days'))
    const { token } = await ask<{ token: string }>('POST', '/req/profile/create-token', {
      name: entered('token-name'),
      ...(days > 0 && { expiresAt: new Date(Date.now() + days * DAY_MS).toISOString() }),
    })
    showSecret(say, 'token', token)
    element<HTMLInputElement>('token-name').value = ''
    await list(say)
    return say('page.profile.tokenOnce')
  })
  await fill(say, 'tokens', () => list(say))
}

async function list(say: Say): Promise<void> {
  const { tokens } = await ask<{ tokens: Token[] }>('GET', '/req/profile/fetch-tokens')
  const lines = tokens.map((token) => line(say, token))
  element('tokens').replaceChildren(...(lines.length > 0 ? lines : [item(say('page.profile.tokenNone'))]))
}

function line(say: Say, token: Token): HTMLLIElement {
  const { id, name } = token
  const sure = () =>
    confirmed({
      title: say('page.profile.tokenRevokeSure').replace(':name', name),
      text: say('page.profile.tokenRevokeText'),
      yes: say('page.profile.tokenRevoke'),
      no: say('page.cancel'),
    })
  const press = async () => {
    await ask('POST', '/req/profile/revoke-token', { tokenId: id })
    await list(say)
    return say('page.profile.tokenRevoked').replace(':name', name)
  }
  const button = itemButton(say, { list: 'tokens', label: say('page.profile.tokenRevoke'), of: name, press, sure })
  return item(name, [abilitiesOf(say, token), timesOf(say, token)], button)
}

const abilitiesOf = (say: Say, { abilities }: Token) =>
  say('page.profile.tokenMay').replace(
    ':abilities',
    abilities.map((ability) => say(`page.profile.ability.${ability}`)).join(', '),
  )

function timesOf(say: Say, { createdAt, lastUsedAt, expiresAt }: Token): string {
  const times = [
    say('page.profile.tokenMade').replace(':day', dayOf(createdAt)),
    lastUsedAt ? say('page.profile.tokenUsed').replace(':time', minuteOf(lastUsedAt)) : say('page.profile.tokenUnused'),
    expiresAt ? say('page.profile.tokenEnds').replace(':day', dayOf(expiresAt)) : say('page.profile.tokenEndless'),
  ]
  return times.join(' · ')
}
