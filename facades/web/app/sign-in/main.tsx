import '../app.css'
import './frame.css'
import { type ComponentType, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import type { PageVisit } from '../shared/api/client.ts'
import { onSessionEnd } from '../shared/api/session-end.ts'
import { loadLabels } from '../shared/text/labels.ts'
import { AuthorizePage } from './authorize-page.tsx'
import { ConnectPage } from './connect-page.tsx'
import { HandshakePage } from './handshake-page.tsx'
import { InvitationPage, takeSecret } from './invitation-page.tsx'
import { LoginPage } from './login-page.tsx'
import { LogoutPage } from './logout-page.tsx'
import { failure, pageData, root } from './page-data.ts'
import { RegisterPage } from './register-page.tsx'
import { goToSignIn, rememberReturnPath, takeReturnPath } from './return-path.ts'
import { UnlockPage } from './unlock-page.tsx'

const pages: Partial<Record<PageVisit['view'], ComponentType>> = {
  login: LoginPage,
  register: RegisterPage,
  handshake: HandshakePage,
  unlock: UnlockPage,
  connect: ConnectPage,
  authorize: AuthorizePage,
  invitation: InvitationPage,
  logout: LogoutPage,
}

const { view } = pageData
if (view === 'login') rememberReturnPath()
// On the sign-in page, the status of an ended session means a wrong password.
else onSessionEnd(goToSignIn)
if (view === 'connect' || view === 'authorize') takeReturnPath()
if (view === 'invitation') takeSecret()
try {
  const Page = pages[view]
  if (!Page) throw new Error(`There is no page ${view}.`)
  await loadLabels()
  createRoot(root).render(
    <StrictMode>
      <Page />
    </StrictMode>,
  )
} catch (error) {
  // Without labels there is only the text that the page contains.
  failure.hidden = false
  throw error
}
