import { onSubmit } from './form.ts'
import { forget } from './keystore.ts'
import { ask } from './server.ts'

// What was opened here must not stay open for whoever comes next.
onSubmit(
  'logout',
  async () => {
    await forget()
    const { redirectUri } = await ask<{ redirectUri: string }>('POST', '/logout')
    location.assign(redirectUri)
    return undefined
  },
  (error) => String(error),
)
