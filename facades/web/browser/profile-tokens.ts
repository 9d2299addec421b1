import { element, entered, onSubmit } from './form.ts'
import { item, itemButton } from './items.ts'
import { dayOf } from './moments.ts'
import { ask } from './server.ts'

type Say = (key: string) => string

interface Token {
  id: number
  name: string
  createdAt: string
}

/** The person's tokens, a way to make one, and a button to end each; nothing where the page has no place for them. */
export async function showTokens(say: Say, failed: (error: unknown) => string): Promise<void> {
  if (!document.getElementById('tokens')) return
  await list(say)
  onSubmit(
    'create',
    async () => {
      const { token } = await ask<{ token: string }>('POST', '/req/profile/create-token', {
        name: entered('token-name'),
      })
      element('token').textContent = token
      element<HTMLInputElement>('token-name').value = ''
      await list(say)
      return say('page.profile.tokenOnce')
    },
    failed,
  )
}

async function list(say: Say): Promise<void> {
  const { tokens } = await ask<{ tokens: Token[] }>('GET', '/req/profile/fetch-tokens')
  const items = tokens.map((token) => row(say, token))
  element('tokens').replaceChildren(...(items.length > 0 ? items : [item(say('page.profile.tokenNone'))]))
}

function row(say: Say, { id, name, createdAt }: Token): HTMLLIElement {
  const revoke = async () => {
    await ask('POST', '/req/profile/revoke-token', { tokenId: id })
    await list(say)
  }
  return item(`${name} · ${dayOf(createdAt)}`, itemButton(say('page.profile.tokenRevoke'), name, revoke))
}
