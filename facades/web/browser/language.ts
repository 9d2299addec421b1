import { getElement } from './form.ts'
import { sendRequest } from './server.ts'

for (const button of document.querySelectorAll<HTMLButtonElement>('#languages button')) {
  button.disabled = false
  button.addEventListener('click', () =>
    choose(button.value).catch(() => {
      getElement('page-failed').hidden = false
    }),
  )
}

async function choose(inputLang: string): Promise<void> {
  await sendRequest('POST', '/req/changeLanguage', { inputLang })
  const address = new URL(location.href)
  // A language in the address would override the choice.
  for (const name of ['lang', 'locale']) address.searchParams.delete(name)
  if (address.href === location.href) location.reload()
  else location.replace(address)
}
