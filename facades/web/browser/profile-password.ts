import { type Translate, Wrong } from './errors.ts'
import { element, entered, onSubmit } from './form.ts'
import { listSessions } from './profile-sessions.ts'
import { ask } from './server.ts'

const fields = ['current-password', 'new-password', 'repeat-password'] as const

/** Changes the password of a local account; the page of others has no such form. */
export function offerPasswordChange(translate: Translate): void {
  onSubmit(translate, 'password', async () => {
    const [currentPassword, newPassword, repeated] = fields.map(entered)
    if (newPassword !== repeated) throw new Wrong('page.profile.passwordDiffer')
    await ask('POST', '/req/profile/change-password', { currentPassword, newPassword })
    for (const id of fields) element<HTMLInputElement>(id).value = ''
    await listSessions(translate)
    return translate('page.profile.passwordChanged')
  })
}
