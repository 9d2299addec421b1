import { PageError, type Translate } from '../errors.ts'
import { element, entered, onSubmit } from '../form.ts'
import { ask } from '../server.ts'
import { listSessions } from './sessions.ts'

const fields = ['current-password', 'new-password', 'repeat-password'] as const

/** Changes the password of a local account; only people with such an account get this form. */
export function offerPasswordChange(translate: Translate): void {
  onSubmit(translate, 'password', async () => {
    const [currentPassword, newPassword, repeated] = fields.map(entered)
    if (newPassword !== repeated) throw new PageError('page.profile.passwordDiffer')
    await ask('POST', '/req/profile/change-password', { currentPassword, newPassword })
    for (const id of fields) element<HTMLInputElement>(id).value = ''
    await listSessions(translate)
    return translate('page.profile.passwordChanged')
  })
}
