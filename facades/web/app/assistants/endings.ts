import { type Assistant, api } from '../shared/api/client.ts'
import { t } from '../shared/text/labels.ts'
import type { Confirmation } from '../shared/ui/confirm-button.tsx'

/** A step that ends what the person has with an assistant, and the question before it. */
export interface Ending extends Confirmation {
  /** The lists still have the assistant until they are read again. */
  act: () => Promise<unknown>
}

type Ended = Pick<Assistant, 'handle' | 'name'>

export const buildDeletion = ({ handle, name }: Ended): Ending => ({
  title: t('app.assistants.deleteTitle', { name }),
  text: t('app.assistants.deleteText'),
  action: t('app.delete'),
  act: () => api.assistants.delete.mutate({ handle }),
})

export const buildLeaving = ({ handle, name }: Ended): Ending => ({
  title: t('app.assistants.leaveTitle', { name }),
  text: t('app.assistants.leaveText'),
  action: t('app.assistants.leave'),
  act: () => api.assistants.leave.mutate({ handle }),
})
