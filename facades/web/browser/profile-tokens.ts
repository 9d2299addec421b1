import { element, entered, onSubmit } from './form.ts'
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
  element('tokens').replaceChildren(...(items.length > 0 ? items : [textItem(say('page.profile.tokenNone'))]))
}

function row(say: Say, { id, name, createdAt }: Token): HTMLLIElement {
  const item = textItem(`${name} · ${new Date(createdAt).toLocaleDateString()}`)
  const button = document.createElement('button')
  button.textContent = say('page.profile.tokenRevoke')
  button.setAttribute('aria-label', `${say('page.profile.tokenRevoke')}: ${name}`)
  button.addEventListener('click', async () => {
    await ask('POST', '/req/profile/revoke-token', { tokenId: id })
    await list(say)
  })
  item.append(button)
  return item
}

function textItem(text: string): HTMLLIElement {
  const item = document.createElement('li')
  const span = document.createElement('span')
  span.textContent = text
  item.append(span)
  return item
}
