import { api } from '../../shared/api/client.ts'
import { t } from '../../shared/text/labels.ts'
import { Field } from '../../shared/ui/field.tsx'
import { ActionButton, readText } from '../action-dialog.tsx'
import { ChoiceInput } from '../choice-input.tsx'
import { roleChoices } from './people.ts'

/** Adds a person; with a password, also a local account. */
export const AddPerson = () => (
  <ActionButton
    label={t('app.admin.addPerson')}
    className="button"
    title={t('app.admin.addPerson')}
    action={t('app.admin.add')}
    act={(form) => {
      const password = String(form.get('password') ?? '')
      return api.admin.addUser.mutate({
        username: readText(form, 'username'),
        email: readText(form, 'email'),
        name: readText(form, 'name'),
        role: readText(form, 'role') === 'admin' ? 'admin' : 'user',
        ...(password !== '' && { password }),
      })
    }}
  >
    <Field label={t('app.admin.username')} name="username" required autoComplete="off" maxLength={200} />
    <Field label={t('app.name')} name="name" required autoComplete="off" maxLength={120} />
    <Field label={t('app.settings.email')} name="email" type="email" required autoComplete="off" />
    <ChoiceInput label={t('app.admin.role')} name="role" value="user" choices={roleChoices()} />
    <Field
      label={t('app.admin.password')}
      name="password"
      type="password"
      autoComplete="new-password"
      hint={t('app.admin.passwordHint')}
    />
  </ActionButton>
)
