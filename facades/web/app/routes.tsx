import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { ChatPage } from './chat/chat-page.tsx'
import { Frame } from './shell/frame.tsx'
import { PageFailure } from './shell/page-failure.tsx'

const rootRoute = createRootRoute({ component: Frame, errorComponent: PageFailure })

const newChat = createRoute({ getParentRoute: () => rootRoute, path: '/chat', component: () => <ChatPage /> })

const chat = createRoute({ getParentRoute: () => rootRoute, path: '/chat/$slug', component: ExistingChat })

/** Below `/chat/`, where no conversation has so short a name. */
const importing = createRoute({
  getParentRoute: () => rootRoute,
  path: '/chat/import',
  component: lazyRouteComponent(() => import('./chat/import/import-page.tsx'), 'ImportPage'),
})

function ExistingChat() {
  const { slug } = chat.useParams()
  return <ChatPage slug={slug} key={slug} />
}

export const router = createRouter({
  routeTree: rootRoute.addChildren([newChat, importing, chat]),
  defaultErrorComponent: PageFailure,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
