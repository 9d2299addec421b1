import { createRootRoute, createRoute, createRouter } from '@tanstack/react-router'
import { ChatPage } from './chat/chat-page.tsx'
import { Frame } from './shell/frame.tsx'
import { PageFailure } from './shell/page-failure.tsx'

const rootRoute = createRootRoute({ component: Frame, errorComponent: PageFailure })

const newChat = createRoute({ getParentRoute: () => rootRoute, path: '/chat', component: () => <ChatPage /> })

const chat = createRoute({ getParentRoute: () => rootRoute, path: '/chat/$slug', component: ExistingChat })

function ExistingChat() {
  const { slug } = chat.useParams()
  return <ChatPage slug={slug} key={slug} />
}

export const router = createRouter({
  routeTree: rootRoute.addChildren([newChat, chat]),
  defaultErrorComponent: PageFailure,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
