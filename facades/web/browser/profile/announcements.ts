import type { Translate } from '../errors.ts'
import { onSubmit } from '../form.ts'
import { ask } from '../server.ts'

/** Lets the person accept each announcement that is shown; what is accepted goes. */
export function offerAnnouncements(translate: Translate): void {
  for (const form of document.querySelectorAll<HTMLFormElement>('form.announcement'))
    onSubmit(translate, form.id, async () => {
      const { id, version } = form.dataset
      await ask('POST', `/req/announcement/report/${id}`, version ? { version } : {})
      form.closest('article')?.remove()
      return undefined
    })
}
