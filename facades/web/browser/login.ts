import { boot } from './boot.ts'
import { entered, onSubmit } from './form.ts'
import { ask, Refused } from './server.ts'

const { say } = await boot()

onSubmit(
  'login',
  async () => {
    const { redirectUri } = await ask<{ redirectUri: string }>('POST', '/req/login', {
      account: entered('account'),
      password: entered('password'),
    })
    location.assign(redirectUri)
    return say('page.working')
  },
  (error) => {
    const status = error instanceof Refused ? error.status : 0
    return say(
      status === 401 || status === 422 ? 'page.login.failed' : status === 429 ? 'page.login.throttled' : 'page.error',
    )
  },
)
