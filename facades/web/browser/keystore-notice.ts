import type { Translate } from './errors.ts'
import { deleteStore } from './keystore.ts'

/** Says at the top of the page that the store for keys is damaged, with a button that begins a new one. */
export function showKeyStoreNotice(translate: Translate): void {
  const notice = document.getElementById('page-failed')
  if (!notice) return
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'quiet'
  button.textContent = translate('page.keystore.begin')
  button.addEventListener('click', () => {
    deleteStore().then(
      () => location.reload(),
      () => {
        notice.textContent = translate('page.keystore.unusable')
      },
    )
  })
  notice.replaceChildren(translate('page.keystore.damaged'), ' ', button)
  notice.hidden = false
}
