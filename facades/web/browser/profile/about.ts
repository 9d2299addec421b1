import type { Connection } from '../boot.ts'
import { toBase64 } from '../crypto/encoding.ts'
import { PageError, type Translate } from '../errors.ts'
import { element, entered, onSubmit } from '../form.ts'
import { api, ask } from '../server.ts'

interface Saved {
  data: { attributes: { avatar: string | null } }
}

/** Edits what others see of the person. */
export function showAbout(translate: Translate, { userinfo }: Connection): void {
  const id = String(userinfo?.id)
  showPicture(id, userinfo?.avatar ?? null)
  prefill('name', userinfo?.name)
  prefill('bio', userinfo?.bio)

  const input = element<HTMLInputElement>('avatar')
  const nameFile = () => element('avatar-name').replaceChildren(input.files?.[0]?.name ?? '')
  input.addEventListener('change', nameFile)

  onSubmit(translate, 'about', async () => {
    const attributes = { displayName: entered('name'), bio: entered('bio') || null, ...(await chosenPicture(input)) }
    const { data } = await ask<Saved>('PATCH', `${api}/users/${id}`, { data: { type: 'users', id, attributes } })
    input.value = ''
    nameFile()
    showPicture(id, data.attributes.avatar)
    return translate('page.profile.saved')
  })
}

/** Fills a field unless the person has already typed into it. */
function prefill(id: string, value: string | null | undefined): void {
  const field = element<HTMLInputElement | HTMLTextAreaElement>(id)
  if (field.value === '') field.value = value ?? ''
}

function showPicture(id: string, avatar: string | null): void {
  const picture = element<HTMLImageElement>('picture')
  picture.hidden = avatar === null
  if (avatar) picture.src = `/req/profile/picture/${id}?${encodeURIComponent(avatar)}`
}

async function chosenPicture({ files, dataset }: HTMLInputElement): Promise<{ avatar?: string }> {
  const [file] = files ?? []
  if (!file) return {}
  if (file.size > Number(dataset['max'])) throw new PageError('page.profile.avatarTooLarge')
  return { avatar: toBase64(new Uint8Array(await file.arrayBuffer())) }
}
